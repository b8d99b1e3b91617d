"""Tools for authors of bridges: the same object of a framework is the same Message.

Start with `ListView`: it keeps each request of a list of a framework's items within the window. A
bridge supplies a form, which reads one item and writes one message. `ListPool` finds the
conversation that a list continues, where one object serves many.

`docs/how-to/write-a-bridge.md` explains step by step how to write a bridge.
"""

from agentic.bridges.kit._list_view import ListView
from agentic.bridges.kit._lists import ListPool

__all__ = [
    "ListPool",
    "ListView",
]
