"""Arguments that a model wrote: read, checked, and refused in words that help it."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import tools
from agentic.messages import ToolCall, ToolError, ToolResult


@attrs.frozen
class Span:
    """Lines of a file."""

    start: int
    end: int = attrs.field(default=9, validator=attrs.validators.ge(0))


class Node(TypedDict, total=False):
    """A chain of itself."""

    child: "Node"


@tools.tool
def read(
    path: Path,
    *,
    limit: Annotated[int, msgspec.Meta(ge=1)] = 10,
    mode: Literal["text", "lines"] = "text",
    spans: list[Span] | None = None,
    scale: float = 1.0,
    node: Node | None = None,
) -> list[object]:
    """Read a file."""
    ran.append(path)
    return [str(path), limit, mode, spans, scale, node is not None]


ran: list[Path] = []


def _execute(arguments: str) -> ToolResult:
    ran.clear()
    return asyncio.run(tools.Registry(read).execute(ToolCall("c1", "read", arguments)))


def _problem(arguments: str) -> str:
    failure = _execute(arguments).error
    assert failure is not None
    assert failure.kind == "bad_arguments"
    return failure.message


NOT_JSON = [
    ("{", "they are not JSON: Expecting property name enclosed in double quotes at line 1, co"),
    ('{"path": "a.py"', "Expecting ',' delimiter at line 1, column 16, near '"),
    ('{\n"path": a.py}', "Expecting value at line 2, column 9, near "),
    ("{'path': 'a.py'}", "at line 1, column 2"),
    ('{"path": "a\nb"}', "Invalid control character at at line 1, column 12"),
    ('{"path": "a.py"} {}', "Extra data at line 1, column 18"),
    ("\ufeff{}", "Unexpected UTF-8 BOM"),
    ("[" * 100_000, "nested too deeply"),
    ('{"path": ' * 100_000, "nested too deeply"),
    ('["a.py"]', "the arguments are a JSON list, not an object; allowed: one JSON object"),
    ("null", "not an object"),
    ('"a.py"', "not an object"),
    ('{"limit": ' + "9" * 5000 + "}", "Exceeds the limit (4300"),
]

MISFITS = [
    ("{}", 'path is missing; allowed: {"type": "string"}'),
    ("", "path is missing"),
    ('{"path": null}', "path: Expected `str`; given None; allowed: "),
    ('{"path": "a", "limit": "ten"}', "limit: Expected `int`, got `str`; given 'ten'; allowed: "),
    ('{"path": "a", "limit": 0}', 'given 0; allowed: {"type": "integer", "minimum": 1'),
    ('{"path": "a", "limit": true}', "limit: Expected `int`, got `bool`"),
    ('{"path": "a", "mode": "json"}', """given 'json'; allowed: {"enum": ["lines", "text"]"""),
    ('{"path": "a", "mode": "\\ud800"}', "mode: contains half a character"),
    ('{"path": "a", "spans": [{"start": 1}, {"start": "x"}]}', "spans[1].start: Expected `int`"),
    ('{"path": "a", "spans": [{}]}', "spans[0]: Object missing required field `start`"),
    ('{"path": "a", "spans": [{}]}', '"properties": {"start": {"type": "integer"}'),
    ('{"path": "a", "spans": [{"start": 1, "end": -1}]}', "'end' must be >= 0: -1"),
    ('{"paht": "a"}', "'paht' is not a parameter. Did you mean path? allowed: path, limit, mode"),
    ('{"path": "a", "zzz": 1}', "'zzz' is not a parameter. allowed: path, limit"),
    ('{"path": "a", "\\ud800": 1}', "is not a parameter"),
    ('{"path": "a", "scale": ' + "9" * 400 + "}", "scale: Number out of range"),
]


@pytest.mark.parametrize(("arguments", "fragment"), NOT_JSON + MISFITS)
def test_unfit_arguments_are_explained_not_run(arguments: str, fragment: str) -> None:
    """The model reads where the problem is, what it gave, and what is allowed."""
    assert fragment in _problem(arguments)
    assert not ran


def test_every_problem_is_named_at_once() -> None:
    """One more call can mend them all."""
    message = _problem('{"limit": 0, "mode": 1, "zzz": 2}')

    assert message.startswith("read was not run, since its arguments do not fit:\n- ")
    assert [line.split(":")[0].split(" ")[1] for line in message.split("\n")[1:-1]] == [
        "'zzz'",
        "path",
        "limit",
        "mode",
    ]


def test_too_deep_recursive_data_is_refused() -> None:
    """A depth that no type can follow is a mistake in the arguments, not a crash."""
    node: dict[str, Any] = {}
    for _ in range(100_000):
        node = {"child": node}

    failure = asyncio.run(read.run({"path": "a", "node": node}))

    assert isinstance(failure, ToolError)
    assert "node: is nested too deeply; given {'child': {'child': " in failure.message


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ('{"path": "a.py"}', '["a.py", 10, "text", null, 1.0, false]'),
        ('  {"path": "a.py", "scale": 2}\n', '["a.py", 10, "text", null, 2.0, false]'),
        ('{"path": "a.py", "path": "b.py"}', '["b.py", 10, "text", null, 1.0, false]'),
        ('{"path": "a", "scale": NaN}', '["a", 10, "text", null, NaN, false]'),
        ('{"path": "\\ud800"}', '["\ud800", 10, "text", null, 1.0, false]'),
        ('{"path": "\ud800"}', '["\ud800", 10, "text", null, 1.0, false]'),
    ],
)
def test_arguments_that_fit_are_passed_on(arguments: str, output: str) -> None:
    """The last of two equal keys counts; NaN and lone surrogates are read as they are."""
    assert _execute(arguments).output == output


def test_no_text_means_no_arguments() -> None:
    """Providers send an empty string for a call without arguments."""
    now = tools.tool(lambda: "noon", name="now")

    assert asyncio.run(now.run(ToolCall("c1", "now", "").parse())) == "noon"


def test_ten_megabytes_of_arguments_pass() -> None:
    """Size alone is no reason to refuse."""
    length = tools.tool(_length)

    call = ToolCall("c1", "_length", json.dumps({"text": "x" * 10_000_000}))

    assert asyncio.run(tools.Registry(length).execute(call)).output == "10000000"


def _length(text: str) -> int:
    return len(text)


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"path": "a", "limit": "x" * 10_000_000}),
        json.dumps({"path": "a", **{f"k{number}": 0 for number in range(200_000)}}),
        json.dumps({"path": ["x"] * 1_000_000}),
        "x" * 10_000_000,
    ],
    ids=["value", "names", "list", "text"],
)
def test_huge_mistake_has_short_answer(arguments: str) -> None:
    """What is wrong with it is said in at most a page."""
    message = _problem(arguments)

    assert len(message) < 2_300
    assert message.endswith("\nCorrect them and call it again.")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)
names = st.sampled_from(["path", "limit", "mode", "spans", "scale", "node", "\ud800", "p"])
texts = (
    st.text(st.characters())
    | json_values.map(json.dumps)
    | st.dictionaries(names, json_values).map(json.dumps)
)


@given(call_id=st.text(st.characters()), arguments=texts)
def test_whatever_the_model_writes_is_answered(call_id: str, arguments: str) -> None:
    """The result has the call's id and name, and either an output or a failure."""
    call = ToolCall(call_id, "read", arguments)

    result = asyncio.run(tools.Registry(read).execute(call))

    assert (result.call_id, result.name) == (call_id, "read")
    assert bool(result.output) != isinstance(result.error, ToolError)


@given(name=st.text(st.characters()))
def test_any_named_tool_is_answered(name: str) -> None:
    """An unknown name is one more text that the model wrote."""
    result = asyncio.run(tools.Registry(read).execute(ToolCall("c1", name, "{}")))

    assert (result.call_id, result.name) == ("c1", name)
    assert result.error is not None


def _expected(arguments: dict[str, Any]) -> bool:
    limit, scale = arguments.get("limit", 1), arguments.get("scale", 1)
    return (
        set(arguments) <= {"path", "limit", "scale"}
        and isinstance(arguments.get("path"), str)
        and type(limit) is int
        and limit >= 1
        and type(scale) in {int, float}
    )


small_values = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.just("x")


@given(st.dictionaries(st.sampled_from(["path", "limit", "scale", "other"]), small_values))
def test_arguments_agree_with_naive_check(arguments: dict[str, Any]) -> None:
    """Neither stricter nor laxer than the types say."""
    assert (_execute(json.dumps(arguments)).error is None) == _expected(arguments)
