"""What a View remembers, as plain JSON: it survives a process, beside whoever's list it is."""

from collections.abc import Mapping
from typing import Any

from agentic.context.view._lineage import Generation, Lineage
from agentic.context.view._meter import ReplyMeter
from agentic.errors import ConfigError

__all__ = ["read_state", "write_state"]

_VERSION = 1


def write_state(generation: Generation | None, meter: ReplyMeter | None) -> dict[str, Any]:
    """Return the JSON form."""
    state: dict[str, Any] = {"v": _VERSION}
    if generation is not None:
        state["compaction"] = generation.to_plain()
    if meter is not None:
        state["size"] = meter.to_plain()
    return state


def read_state(state: Mapping[str, Any], lineage: Lineage, meter: ReplyMeter | None) -> None:
    """Take over what `write_state` wrote.

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
    except (KeyError, TypeError, ValueError) as problem:
        raise ConfigError(
            "state", dict(state), "what state() returned", "leave it out: it is damaged"
        ) from problem
