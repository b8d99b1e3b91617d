"""How the sections of a digest share a room, in tokens."""

from agentic.context.compactors._drafts import STATED, Draft
from agentic.context.compactors._room import share

__all__ = ["firsts_of", "shares_of"]

_URGENCY = (
    "progress",
    "errors",
    "todos",
    "results",
    "changed",
    "commands",
    "findings",
    "calls",
    "read",
)
"""Each section has one entry before any has two, in this order."""


def firsts_of(drafts: list[Draft], room: int, stated: int) -> dict[str, int]:
    """Give what was stated its room, then each section room for an entry, the most urgent first."""
    firsts = _stated([each for each in drafts if each.heading.stated], min(stated, room))
    room -= sum(firsts.values())
    by_name = {each.heading.name: each for each in drafts}
    for name in _URGENCY:
        first = by_name[name].first - firsts.get(name, 0)
        if 0 < first <= room:
            firsts[name] = by_name[name].first
            room -= first
    return firsts


def _stated(drafts: list[Draft], room: int) -> dict[str, int]:
    """Share a room among the sections of what was stated, what tells most before the rest."""
    telling = share(room, [(each.decisive, each.heading.weight) for each in drafts])
    wants = [
        (each.least(STATED) - has, each.heading.weight)
        for each, has in zip(drafts, telling, strict=True)
    ]
    more = share(room - sum(telling), wants)
    return {
        each.heading.name: sum(parts) for each, *parts in zip(drafts, telling, more, strict=True)
    }


def shares_of(drafts: list[Draft], room: int, firsts: dict[str, int]) -> dict[str, int]:
    """Share out by weight what the first entries leave."""
    had = [firsts.get(each.heading.name, 0) for each in drafts]
    wants = [
        (each.wanted - has, each.heading.weight) for each, has in zip(drafts, had, strict=True)
    ]
    more = share(room - sum(had), wants)
    return {
        each.heading.name: has + part for each, has, part in zip(drafts, had, more, strict=True)
    }
