"""The JSON Schema that a function's signature becomes, and the signatures that are refused."""

import enum
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import attrs
import msgspec
import pytest

from agentic import tools
from agentic.errors import ConfigError

if TYPE_CHECKING:
    from agentic.nowhere import Unknown


NOT_GIVEN: Any = object()


class Color(enum.Enum):
    """Of the ink."""

    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Point:
    """A place."""

    x: int
    y: float = 0.5


@dataclass
class Line:
    """From one point to another."""

    points: list[Point]


class Box(TypedDict):
    """A frame with a title."""

    title: str


@tools.tool
def draw(  # noqa: D417  a parameter that the docstring leaves out is part of the test
    line: Line,
    *,
    color: Color = Color.RED,
    width: Annotated[int, msgspec.Meta(ge=1, description="In pixels.")] = 1,
    style: Literal["solid", "dotted"] | None = None,
    boxes: list[Box] = [],  # noqa: B006  what a careless author writes
    labels: "dict[str, int | str] | None" = None,
    target: Path = Path("out.png"),
    seed: Any = NOT_GIVEN,
) -> str:
    """Draw a line on the canvas.

    Later lines cover earlier ones.

    Args:
        line: What to draw,
            with all its points.
        width: Not shown, since the annotation says it.
        style (str, optional): How: solid or dotted.

    Returns:
        What was drawn.
    """
    return f"{line} {color} {width} {style} {boxes} {labels} {target} {seed}"


def test_space_after_heading_loses_no_description() -> None:
    """Nobody sees it, and editors leave it behind."""

    def find(path: str) -> None: ...

    find.__doc__ = "Find.\n\nArgs: \n    path: Where to look.\n"

    properties = tools.tool(find).definition.parameters["properties"]
    assert properties["path"]["description"] == "Where to look."


SCHEMA = {
    "type": "object",
    "properties": {
        "line": {"$ref": "#/$defs/Line", "description": "What to draw, with all its points."},
        "color": {"$ref": "#/$defs/Color", "default": "red"},
        "width": {"type": "integer", "minimum": 1, "description": "In pixels.", "default": 1},
        "style": {
            "anyOf": [{"enum": ["dotted", "solid"]}, {"type": "null"}],
            "description": "How: solid or dotted.",
            "default": None,
        },
        "boxes": {"type": "array", "items": {"$ref": "#/$defs/Box"}, "default": []},
        "labels": {
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                },
                {"type": "null"},
            ],
            "default": None,
        },
        "target": {"type": "string", "default": "out.png"},
        "seed": {},
    },
    "required": ["line"],
    "additionalProperties": False,
    "$defs": {
        "Line": {
            "type": "object",
            "description": "From one point to another.",
            "properties": {"points": {"type": "array", "items": {"$ref": "#/$defs/Point"}}},
            "required": ["points"],
        },
        "Color": {"description": "Of the ink.", "enum": ["blue", "red"]},
        "Box": {
            "type": "object",
            "description": "A frame with a title.",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
        "Point": {
            "type": "object",
            "description": "A place.",
            "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 0.5}},
            "required": ["x"],
        },
    },
}


def test_schema_says_what_signature_says() -> None:
    """Types, defaults, limits and descriptions are there, and no title that repeats a name."""
    assert draw.definition.parameters == SCHEMA


def test_properties_keep_parameter_order() -> None:
    """The text of the request stays the same from process to process."""
    assert list(draw.definition.parameters["properties"]) == list(SCHEMA["properties"])


def test_description_is_docstring_before_its_sections() -> None:
    """What the sections say is in the schema, or of no use to a model."""
    assert draw.definition.description == (
        "Draw a line on the canvas.\n\nLater lines cover earlier ones."
    )


def test_parameterless_function_has_closed_empty_schema() -> None:
    """No parameters means no arguments, and the schema says so."""

    @tools.tool
    def now() -> str:
        return "noon"

    assert now.definition == tools.ToolDefinition(
        "now", "", {"type": "object", "properties": {}, "additionalProperties": False}
    )


def test_unsendable_default_is_not_shown() -> None:
    """A sentinel and a number that JSON cannot represent stay between function and author."""

    @tools.tool
    def wait(seconds: float = float("inf"), unit: str = NOT_GIVEN) -> str:
        return f"{seconds} {unit}"

    assert wait.definition.parameters["properties"] == {
        "seconds": {"type": "number"},
        "unit": {"type": "string"},
    }


def test_unresolvable_return_type_harms_nothing() -> None:
    """Only the parameters are evaluated."""

    @tools.tool
    def find(pattern: "str") -> "Unknown":
        return pattern

    assert find.definition.parameters["properties"] == {"pattern": {"type": "string"}}


def test_the_schema_survives_json() -> None:
    """Whatever is in it can be sent."""
    assert json.loads(json.dumps(draw.definition.parameters)) == SCHEMA


def _variadic(*paths: str) -> str: ...
def _keywords(**options: str) -> str: ...
def _positional(path: str, /) -> str: ...
def _untyped(path) -> str: ...  # noqa: ANN001  the point
def _callback(then: Callable[[], None]) -> str: ...
def _ambiguous(points: list[int] | set[int]) -> str: ...
def _for_checkers(thing: "Unknown") -> str: ...
def _misspelt(thing: "list[") -> str: ...  # noqa: F722  the point


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            _variadic,
            "parameter 'paths' of _variadic must be .*passed by name, got 'variadic positional'",
        ),
        (
            _keywords,
            "parameter 'options' of _keywords must be .*passed by name, got 'variadic keyword'",
        ),
        (
            _positional,
            "parameter 'path' of _positional must be .*passed by name, got 'positional-only'",
        ),
        (_untyped, "parameter 'path' of _untyped has no type annotation; .*path: str"),
        (
            _callback,
            "parameter 'then' of _callback .* got collections.*JSON cannot represent Callable",
        ),
        (_ambiguous, "parameter 'points' of _ambiguous must be .*more than one array-like"),
        (
            _for_checkers,
            "parameter 'thing' of _for_checkers must be .*, got 'Unknown'.*TYPE_CHECKING",
        ),
        (_misspelt, "parameter 'thing' of _misspelt must be .*, got 'list"),
    ],
)
def test_unfillable_signature_is_refused(function: Callable[..., str], problem: str) -> None:
    """The error names the function and the parameter, and says what to do."""
    with pytest.raises(ConfigError, match=problem):
        tools.tool(function)


def test_unbound_method_is_refused() -> None:
    """Its first parameter is none that a model could fill."""

    class Store:
        def read(self, key: str) -> str:
            """Read a key."""
            return f"<{key}>"

    with pytest.raises(ConfigError, match=r"parameter 'self' of .*decorate the bound one"):
        tools.tool(Store.read)
    assert list(tools.tool(Store().read).definition.parameters["properties"]) == ["key"]


def _generator() -> Any:
    yield "one"


def test_builtin_without_signature_is_refused() -> None:
    """There is nothing to read its parameters from."""
    with pytest.raises(ConfigError, match="a function whose signature can be read"):
        tools.tool(max)


class _Callable:
    def __call__(self) -> str: ...


@pytest.mark.parametrize("thing", [_generator, _Callable, _Callable(), "read", 1, dict])
def test_only_plain_functions_are_accepted(thing: Any) -> None:
    """A class, a generator or a value would fail at its first call; it fails now."""
    with pytest.raises(ConfigError, match="a function or a bound method"):
        tools.tool(thing)


def test_a_lambda_needs_a_name() -> None:
    """Its own name is none that a provider accepts."""
    with pytest.raises(ConfigError, match="<lambda>"):
        tools.tool(lambda: "noon")
    assert tools.tool(lambda: "noon", name="now").definition.name == "now"


WITH_SETS = """
import dataclasses
from agentic import tools

@dataclasses.dataclass(frozen=True)
class Filter:
    kinds: frozenset[str] | None = frozenset({"a", "b", "c"})

@tools.tool
def find(
    only: set[str] = frozenset({"x", "y", "z"}),
    each: dict[str, list[frozenset[str]]] = {"k": [frozenset({"p", "q", "r"})]},
    by: Filter = Filter(),
    mixed: frozenset[int | str] = frozenset({1, "a", "b"}),
) -> str:
    return ""

print(find.definition.schema_hash, find.definition.parameters["properties"]["only"]["default"])
"""


def test_default_set_hashes_alike_everywhere() -> None:
    """The order of a set depends on the hash seed, and is not shown."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", WITH_SETS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "123"
    }

    assert len(printed) == 1
    assert printed.pop().rstrip().endswith("['x', 'y', 'z']")
