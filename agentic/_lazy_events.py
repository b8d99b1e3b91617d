"""The room of events, loaded with the first event: a program that builds a Runner sends none yet.

Its sixteen record classes and blinker take half of the time that `import attrs` takes.
"""

from typing import TYPE_CHECKING

from agentic import _lazy

if TYPE_CHECKING:
    from agentic import events
else:
    events = _lazy.LazyModule("agentic.events")

__all__ = ["events"]
