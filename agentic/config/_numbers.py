"""Numbers that bear on each other: which contradict, and which give way. Sizes are in tokens."""

from collections.abc import Iterator
from typing import Any

import attrs

from agentic import limits
from agentic.config._model import served_name
from agentic.config._origin import Origin
from agentic.config._problems import Fault, show
from agentic.config._records import ContextSettings
from agentic.context.budget import Policy

__all__ = ["contradictions", "make_policy"]

_DEFAULTS = ContextSettings()


def contradictions(data: Any) -> Iterator[Fault]:
    """Find what is written and cannot hold together, in a document with whatever else is wrong."""
    if not isinstance(data, dict):
        return
    context = data.get("context")
    if isinstance(context, dict):
        yield from _messages(context)
        yield from _reserve(context, _window(data))
    store = data.get("store")
    if isinstance(store, dict):
        yield from _places(store)


def make_policy(settings: ContextSettings, window: int, origin: Origin, reply: int = 0) -> Policy:
    """Return the numbers of a budget over a window; 0 is no window.

    `reply` is how long a reply each request asks for: some providers refuse a request that, with
    the reply, is larger than the window.

    Raises:
        ConfigProblems: a reserve that was written fills the window.
        ConfigError: the numbers of settings that were made in Python contradict each other.
    """
    settings = _give_way(settings, window, origin, reply)
    reserve = settings.response_reserve
    if window and reserve >= window:
        raise origin.problems([_too_large(reserve, window)])
    return Policy(
        window,
        reserve,
        _keep_recent(window, reserve, settings.max_tokens_before_summary) if window else None,
        max_tokens=settings.max_tokens_before_summary,
        max_messages=settings.max_messages_before_summary,
        min_recent_messages=settings.min_recent_messages,
    )


def _give_way(
    settings: ContextSettings, window: int, origin: Origin, reply: int
) -> ContextSettings:
    """Move numbers that nobody wrote out of the way of the others."""

    def free(key: str) -> bool:
        same = bool(getattr(settings, key) == getattr(_DEFAULTS, key))
        return same and not origin.has("context", key)

    changes: dict[str, Any] = {}
    most, recent = settings.max_messages_before_summary, settings.min_recent_messages
    if most is not None and most < recent + Policy.trigger_margin:
        if free("min_recent_messages"):
            changes["min_recent_messages"] = max(1, most - Policy.trigger_margin)
        elif free("max_messages_before_summary"):
            changes["max_messages_before_summary"] = recent + Policy.trigger_margin
    if window and free("response_reserve"):
        changes["response_reserve"] = min(max(settings.response_reserve, reply), window // 2)
    return attrs.evolve(settings, **changes)


def _keep_recent(window: int, reserve: int, most: int | None) -> int:
    """Return what stays when the window is full: the budget's default, and room for a summary."""
    room = window - reserve if most is None else min(window - reserve, most)
    return min(Policy(window).keep_recent_tokens, room * 2 // 3)


def _messages(context: dict[str, Any]) -> Iterator[Fault]:
    most = _number(context, "max_messages_before_summary")
    recent = _number(context, "min_recent_messages")
    if most is not None and recent is not None and 1 < most <= recent:
        yield Fault(
            ("context", "max_messages_before_summary"),
            show(most),
            f"more than min_recent_messages ({recent}), which always stay",
        )


def _reserve(context: dict[str, Any], window: int | None) -> Iterator[Fault]:
    reserve = _number(context, "response_reserve")
    if reserve is not None and window is not None and reserve >= window:
        yield _too_large(reserve, window)


def _too_large(reserve: int, window: int) -> Fault:
    return Fault(
        ("context", "response_reserve"),
        show(reserve),
        f"less than the context window ({window})",
    )


def _window(data: dict[str, Any]) -> int | None:
    """Return the window that the document tells, by itself or by its model."""
    window, model = _number(data, "context_window"), data.get("model")
    if window is not None and window > 0:
        return window
    known = limits.lookup(served_name(model) if isinstance(model, str) else "")
    return known.context_window if known.known else None


def _places(store: dict[str, Any]) -> Iterator[Fault]:
    """Find a place that the kind of store does not have, and a server that is not named."""
    kind = store.get("kind", "jsonl")
    if kind == "postgres" and store.get("dsn") is None:
        example = "dsn: postgresql://localhost/agents, or dsn: ${DATABASE_URL}"
        yield Fault(("store",), "", message=f"a postgres store needs a dsn; add {example}")
    homes = {"jsonl": "path", "sqlite": "path", "postgres": "dsn", "memory": ""}
    home = homes.get(kind) if isinstance(kind, str) else None
    for key in ("path", "dsn"):
        if home is not None and key != home and store.get(key) is not None:
            message = f"store.{key} is not used by a {kind} store; leave it out, or change kind"
            yield Fault(("store", key), show(store[key]), message=message)


def _number(section: dict[str, Any], key: str) -> int | None:
    value = section.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
