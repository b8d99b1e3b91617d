"""Sessions that are trees: each entry names the one before it, and the latest one is current.

A link may lead out of the file: a compaction names an entry that was never written, or the file was
cut. Then the conversation goes on from the entry before it in the file; to take the link for a root
would lose everything before it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentic.app.replay._reading import Reading


@attrs.frozen
class Tree:
    """The parents of entries, by id, in the order of the file."""

    parents: Mapping[str, str | None]
    bridged: frozenset[str]
    """The entries whose parent is not in the file."""

    @classmethod
    def of(cls, links: Iterable[tuple[str, Any]]) -> "Tree":
        """Build the tree of entries, each an id and the id of its parent.

        >>> Tree.of([("a", None), ("b", "lost")]).parents
        {'a': None, 'b': 'a'}
        """
        parent_of = dict(links)
        parents: dict[str, str | None] = {}
        bridges = set()
        before: str | None = None
        for entry, parent in parent_of.items():
            leads_out = isinstance(parent, str) and parent not in parent_of and before is not None
            if leads_out:
                bridges.add(entry)
            parents[entry] = before if leads_out else parent if isinstance(parent, str) else None
            before = entry
        return cls(parents, frozenset(bridges))

    def chain(self, latest: Any) -> set[str]:
        """Return the ids from the latest entry back to the first; none if it is not in the tree."""
        chain: set[str] = set()
        # The links of a damaged file may form a circle.
        while isinstance(latest, str) and latest in self.parents and latest not in chain:
            chain.add(latest)
            latest = self.parents[latest]
        return chain

    def note_bridges(self, chain: set[str], reading: Reading) -> None:
        """Note the links of a chain that lead out of the file."""
        reading.note_count(
            len(self.bridged & chain),
            "entry names a parent that is not in the file: it follows the entry before it",
            "entries name parents that are not in the file: they follow the entries before them",
        )
