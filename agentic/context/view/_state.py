"""The JSON form of what a View remembers, so that another process can go on with a conversation."""

from collections.abc import Mapping
from typing import Any

import attrs

from agentic.context.budget import Backoff
from agentic.context.view._lineage import Branch, Generation
from agentic.context.view._request import RequestBuilder
from agentic.context.view._scheduler import CompactionScheduler
from agentic.errors import ConfigError

__all__ = ["read_state", "write_state"]

_VERSION = 1


def write_state(
    latest: Branch | None, builder: RequestBuilder, scheduler: CompactionScheduler
) -> dict[str, Any]:
    """Return the JSON form; `latest` is the branch that the latest request was made from."""
    state: dict[str, Any] = {"v": _VERSION}
    backoff = scheduler.backoff  # until a history is seen, the one that was read
    if backoff is None and latest is not None and latest.history:
        backoff = scheduler.manager.backoff(latest.history)
    if backoff is not None:
        state["backoff"] = attrs.asdict(backoff)
    if scheduler.held_off_below:
        state["held_off_below"] = scheduler.held_off_below
    # The latest one even if it does not hold now: after a rewind, the owner may return to it.
    generation = (latest and latest.generation) or builder.lineage.latest
    if generation is not None:
        state["compaction"] = generation.to_plain()
    if builder.meter is not None:
        state["size"] = builder.meter.to_plain()
    return state


def read_state(
    state: Mapping[str, Any], builder: RequestBuilder, scheduler: CompactionScheduler
) -> None:
    """Restore what `write_state` returned.

    Raises:
        ConfigError: the state is of another version, or was not returned by `write_state`.
    """
    known: Any = state
    version = known.get("v") if isinstance(known, Mapping) else None
    if version != _VERSION:
        raise ConfigError(
            "state", state, f"what state() returned, of version {_VERSION}", "leave it out"
        )
    try:
        if "compaction" in state:
            builder.lineage.add(Generation.from_plain(state["compaction"]))
        if builder.meter is not None and "size" in state:
            builder.meter.read_plain(state["size"])
        if "backoff" in state:
            backoff = state["backoff"]
            scheduler.backoff = Backoff(int(backoff["tokens"]), float(backoff["growth"]))
        scheduler.held_off_below = int(state.get("held_off_below", 0))
    except (KeyError, TypeError, ValueError) as problem:
        raise ConfigError(
            "state", dict(state), "what state() returned", "leave it out: it is damaged"
        ) from problem
