"""The entry points of the systems that this project unites, under their original names.

Code that was written for one of them imports from its module here: `supyagent`, `open_agent_sdk` or
`agentix`. New code does not need this room: each name can also be imported from the room that
defines it, so the `__all__` of a module here has only the names that no room lists. Agentic Weave
has no module, because its names are those of `agentic` itself.
"""

from agentic import _lazy

# A package is found by its path, so none lists its subpackages (design/0013).
__all__: list[str] = []

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "agentix": ".agentix",
        "open_agent_sdk": ".open_agent_sdk",
        "supyagent": ".supyagent",
    },
)
