"""The entry points of the systems that this project unites, under their original names.

Code that was written for one of them imports from its module here: `supyagent`, `open_agent_sdk` or
`agentix`. New code does not need this room: it uses the rooms on which each module stands, so the
`__all__` of a module here has only the names that no room lists. Agentic Weave has no module,
because its names are those of `agentic` itself.
"""

from agentic._base import _lazy

# A package is found by its path, so none lists its subpackages (design/layout.md).
__all__: list[str] = []

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "agentix": ".agentix",
        "open_agent_sdk": ".open_agent_sdk",
        "supyagent": ".supyagent",
    },
)
