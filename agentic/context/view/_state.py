"""What a View remembers, as plain JSON: it survives a process, beside whoever's list it is."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.context.budget import Backoff
from agentic.context.view._lineage import Generation, Lineage
from agentic.context.view._meter import ReplyMeter
from agentic.errors import ConfigError

__all__ = ["read_state", "write_state"]

_VERSION = 1


def write_state(
    generation: Generation | None,
    meter: ReplyMeter | None,
    backoff: Backoff | None,
    held_off_below: int,
) -> dict[str, Any]:
    """Return the JSON form."""
    state: dict[str, Any] = {"v": _VERSION}
    if backoff is not None:
        state["backoff"] = attrs.asdict(backoff)
    if held_off_below:
        state["held_off_below"] = held_off_below
    if generation is not None:
        state["compaction"] = generation.to_plain()
    if meter is not None:
        state["size"] = meter.to_plain()
    return state


def read_state(
    state: Mapping[str, Any], lineage: Lineage, meter: ReplyMeter | None
) -> tuple[Backoff | None, int]:
    """Take over what `write_state` wrote; return the back-off, and the length that is waited for.

    Raises:
        ConfigError: the state is of a newer version, or not one of ours.
    """
    known: Any = state
    version = known.get("v") if isinstance(known, Mapping) else None
    if version != _VERSION:
        raise ConfigError(
            "state", state, f"what state() returned, of version {_VERSION}", "leave it out"
        )
    try:
        if "compaction" in state:
            lineage.add(Generation.from_plain(state["compaction"]))
        if meter is not None and "size" in state:
            meter.read_plain(state["size"])
        backoff = Backoff(**state["backoff"]) if "backoff" in state else None
        return backoff, int(state.get("held_off_below", 0))
    except (KeyError, TypeError, ValueError) as problem:
        raise ConfigError(
            "state", dict(state), "what state() returned", "leave it out: it is damaged"
        ) from problem
