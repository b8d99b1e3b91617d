import copy
import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.app import config

WHOLE: dict[str, Any] = {
    "name": "quick",
    "model": "anthropic:claude-sonnet-4-5",
    "model_options": {"temperature": 0.5},
    "context_window": 50_000,
    "system_prompt": "Be brief.\nBe kind.",
    "tools": ["recall", "json:dumps"],
    "context": {
        "auto_summarize": True,
        "max_messages_before_summary": 20,
        "min_recent_messages": 5,
        "summary_model": "digest",
    },
    "truncation": {"mode": "head", "max_lines": 10, "max_bytes": "50KB"},
    "strategies": [{"clear_tool_outputs": {"max_tokens": 40_000}}, "keep_last"],
    "store": {"kind": "sqlite", "path": "x.db"},
    "max_turns": 5,
}
WORDS = st.sampled_from(
    ["model", "context", "kind", "postgres", "keep_last", "${X}", "tools.py:x", "null", "1", ""]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner),
    max_leaves=5,
)
_WHOLE_TEXT = yaml.safe_dump(WHOLE, sort_keys=False)
FAST = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Return every container with each of its keys."""
    items = list(data.items() if isinstance(data, dict) else enumerate(data))
    below = [place for _, each in items if isinstance(each, dict | list) for place in _places(each)]
    return [(data, key) for key, _ in items] + below


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Draw the whole file with keys renamed, and values replaced or left out."""
    data = copy.deepcopy(WHOLE)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(_places(data) or [(data, "model")]))
        how = draw(st.sampled_from(["replace", "rename", "remove"]))
        if how == "replace" or key not in container:
            container[key] = draw(VALUES)
        elif how == "remove":
            del container[key]
        elif isinstance(container, dict):
            container[draw(WORDS | st.text(max_size=12))] = container.pop(key)
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=draw(st.booleans())))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Draw the file as text with some characters replaced."""
    text = _WHOLE_TEXT
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        junk = st.sampled_from(
            [":", "\t", "- ", "*a", "&a ", "!x ", "{", "]", '"', "\n", "%", "? "]
        )
        text = text[:at] + draw(junk | st.text(max_size=3)) + text[at + draw(st.integers(0, 6)) :]
    return text


def _check(text: str) -> None:
    try:
        made = config.loads(text, "quick.yaml", environ={})
    except config.ConfigProblems as error:
        problems = error.problems
    else:
        made.policy()
        return
    last = text.count("\n") + 1
    assert problems
    for problem in problems:
        said = str(problem)
        assert 1 <= problem.line <= last, problem
        refusal = f" must be {problem.allowed}, got {problem.given}"
        assert re.match(r"quick.yaml:\d+: .+", said, re.DOTALL)
        assert bool(problem.message) != bool(problem.allowed and refusal in said)
        assert said.encode()


@FAST
@given(mutated())
def test_mutated_file_loads_or_lists_problems(text: str) -> None:
    """Never another error, and every line is there."""
    _check(text)


@FAST
@given(damaged())
def test_damaged_file_loads_or_lists_problems(text: str) -> None:
    """However it is cut, and whatever stands in it."""
    _check(text)


@FAST
@given(st.text() | VALUES.map(yaml.safe_dump))
def test_any_text_loads_or_lists_problems(text: str) -> None:
    """A text that was never meant to be an agent."""
    _check(text)


def test_the_whole_file_is_valid() -> None:
    """What is mutated is one to begin with."""
    made = config.loads(yaml.safe_dump(WHOLE), folder=Path("/"))

    assert made.context.min_recent_messages == 5
