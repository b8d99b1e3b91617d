"""How a policy is spelled: `name`, `name:option=value,option=value`, or an agent's YAML file."""

import inspect
from pathlib import Path
from typing import Any, get_args

from agentic.cli.replay._policies import POLICIES, Policy, Room
from agentic.context import budget, compactors
from agentic.errors import ConfigError

__all__ = ["describe_policy", "make_policy"]

_AGENTS = (".yaml", ".yml")


def make_policy(spec: str, room: Room) -> Policy:
    """Make the policy that is spelled `name` or `name:option=value,...`, or that an agent has.

    >>> from agentic.tokens import CharCounter
    >>> room = Room(budget.Policy(16_000), CharCounter())
    >>> make_policy("keep_last:keep_recent=6", room).strategies[0].keep_recent
    6

    Raises:
        ConfigError: an unknown name or option, or a value that the policy does not take.
        ConfigProblems: an agent's file that cannot be read.
        ImportError: such a file needs an extra that is not installed.
    """
    if spec.endswith(_AGENTS):
        return _of_agent(spec)
    name, _, given = spec.partition(":")
    if name not in POLICIES:
        allowed = f"one of {', '.join(POLICIES)}, or an agent's YAML file"
        raise ConfigError(
            "policy", name, allowed, "name one of them, with :option=value if need be"
        )
    options = _options(name, given)
    used, manager = POLICIES[name](room, **options)
    return Policy(spec, tuple(used), manager)


def _of_agent(path: str) -> Policy:
    """Take the strategies and the budget of an agent; no model is asked, a digest summarizes."""
    from agentic import config  # noqa: PLC0415  it needs an extra

    agent = config.load(path)
    counter = agent.counter()
    session = agent.session("replay")
    manager = budget.Manager(counter, compactors.Digest(counter=counter), agent.policy())
    summarizes = agent.context.auto_summarize
    return Policy(Path(path).stem, (session.strategies,), manager if summarizes else None)


def describe_policy(spec: str) -> str:
    """Say what a policy does, in a sentence.

    >>> describe_policy("keep_last:keep_recent=6")
    'Send the newest messages, by number.'
    """
    if spec.endswith(_AGENTS):
        return f"The strategies and the budget of {Path(spec).name}; a digest summarizes."
    return inspect.getdoc(POLICIES[spec.partition(":")[0]]) or ""


def _options(name: str, given: str) -> dict[str, Any]:
    known = {
        key: parameter.annotation
        for key, parameter in inspect.signature(POLICIES[name]).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    options: dict[str, Any] = {}
    for part in filter(None, given.split(",")):
        key, _, text = part.partition("=")
        if key.strip() not in known:
            allowed = ", ".join(known) or "no option"
            raise ConfigError(f"the option of {name}", key, allowed, "spell it option=value")
        options[key.strip()] = _value(f"{name}:{key.strip()}", text.strip(), known[key.strip()])
    return options


def _value(name: str, text: str, annotation: Any) -> Any:
    """Read a number; an empty text is none where there may be none.

    >>> _value("digest:max_tokens", "8_000", int | None), _value("tiers:clear_at", ".5", float)
    (8000, 0.5)
    """
    kind = float if annotation is float else int
    if text in {"", "none"} and type(None) in get_args(annotation):
        return None
    try:
        return kind(text)
    except ValueError as problem:
        allowed = "a whole number" if kind is int else "a number"
        raise ConfigError(
            name, text, allowed, f"write {name}={'20' if kind is int else '0.5'}"
        ) from problem
