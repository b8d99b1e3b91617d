from types import MappingProxyType
from typing import Any

import pytest

from agentic import tools
from agentic.errors import ConfigError

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def test_model_is_the_default_caller() -> None:
    """The default caller is the word that providers use for the model."""
    assert tools.ToolDefinition("read").allowed_callers == ("direct",)


def test_caller_may_be_one_word() -> None:
    """A lone word is one caller, not a collection of letters."""
    definition = tools.ToolDefinition("read", allowed_callers="programmatic")

    assert definition.allowed_callers == ("programmatic",)


@pytest.mark.parametrize("name", ["", "two words", "<lambda>", "é", "a" * 129, "read\n", None])
def test_unacceptable_name_is_refused(name: Any) -> None:
    """The message says what was given and which characters are allowed."""
    with pytest.raises(ConfigError, match=r"ToolDefinition\.name must be .*A-Z a-z 0-9.*, got "):
        tools.ToolDefinition(name)


@pytest.mark.parametrize("parameters", [{}, {"type": "string"}, [], None])
def test_non_object_parameters_are_refused(parameters: Any) -> None:
    """A schema of anything but an object cannot be sent to a provider."""
    with pytest.raises(ConfigError, match='"type": "object"'):
        tools.ToolDefinition("read", parameters=parameters)


_deep: dict[str, Any] = {}
for _ in range(100_000):
    _deep = {"items": _deep}


@pytest.mark.parametrize("value", [{1, 2}, object(), float("nan"), _deep])
def test_non_json_parameters_are_refused(value: object) -> None:
    """The mistake is found where it is made, not when the request is encoded."""
    with pytest.raises(ConfigError, match="must be JSON data"):
        tools.ToolDefinition("read", parameters={"type": "object", "default": value})


@pytest.mark.parametrize("callers", [(), "", ("direct", ""), (3,), 3])
def test_uncallable_tool_is_refused(callers: Any) -> None:
    """Withholding a tool is done by not registering it, and the message says so."""
    with pytest.raises(ConfigError, match="do not register it"):
        tools.ToolDefinition("read", allowed_callers=callers)


def test_schema_hash_is_the_same_everywhere() -> None:
    """It may be stored, so its value is a promise."""
    assert tools.ToolDefinition("read", "Read.", SCHEMA).schema_hash == (
        "62fe4874543da329eabe6e4ca250ad59d6ccce4e30e702a36c2806bb5648a0c9"
    )


@pytest.mark.parametrize("annotations", [None, 3, "readOnlyHint"])
def test_annotations_of_another_type_are_refused(annotations: Any) -> None:
    """An approval would fail on them in the middle of a run."""
    with pytest.raises(ConfigError, match="annotations must be a Mapping"):
        tools.ToolDefinition("read", annotations=annotations)


def test_schema_hash_ignores_wording_and_order() -> None:
    """Only what the arguments are written against counts."""
    shuffled = MappingProxyType(dict(reversed(SCHEMA.items())))

    one = tools.ToolDefinition("read", "Read a file.", SCHEMA)
    other = tools.ToolDefinition("read", "Reads.", shuffled, allowed_callers=["programmatic"])

    assert one.schema_hash == other.schema_hash


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("open", SCHEMA), ("read", {**SCHEMA, "required": ["path"]})],
)
def test_schema_hash_follows_name_and_parameters(name: str, parameters: dict[str, Any]) -> None:
    """A call that was written for another tool or schema is told apart."""
    original = tools.ToolDefinition("read", "", SCHEMA)

    assert tools.ToolDefinition(name, "", parameters).schema_hash != original.schema_hash


def test_definitions_can_be_compared_and_hashed() -> None:
    """Equal definitions are one entry of a set, whatever their schemas hold."""
    pair = [tools.ToolDefinition("read", "", dict(SCHEMA)) for _ in range(2)]

    assert len(set(pair)) == 1
