"""Tools for authors of bridges: the same object of a framework is the same Message.

Start with `ListView`: it keeps each request of a list of a framework's items within the window. A
bridge supplies an `ItemForm`, which reads one item and writes one message. `Mirror` is the part of
it that knows which items are known, for a bridge with a View of its own; `ListPool` finds the
conversation that a list continues, where one object serves many.

`docs/how-to/write-a-bridge.md` explains step by step how to write a bridge.
"""

from agentic.bridges.kit._list_view import ListView
from agentic.bridges.kit._lists import ListPool
from agentic.bridges.kit._mirror import (
    ComparesItems,
    CopiesItems,
    EditsItems,
    ItemForm,
    Mirror,
    ReadsGroups,
    Unit,
)

__all__ = [
    "ComparesItems",
    "CopiesItems",
    "EditsItems",
    "ItemForm",
    "ListPool",
    "ListView",
    "Mirror",
    "ReadsGroups",
    "Unit",
]
