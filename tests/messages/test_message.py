import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given

from agentic.errors import ConfigError
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.testing import conversations

CALL = ToolCall("c1", "read", '{"path": "a.py"}')
RESULT = ToolResult("c1", "read", "print()")


@pytest.mark.parametrize("role", ["developer", "function", "", "User", None, 7, ["user"]])
def test_unknown_role_is_refused(role: Any) -> None:
    """The error lists the roles, and says what to do with a provider's own."""
    with pytest.raises(ConfigError) as caught:
        Message(role, "hello")

    said = str(caught.value)
    assert said.startswith("Message.role must be one of system, user, assistant,")
    assert "; map the provider's role to one of these" in said


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda value: Message("user", value), "Message.content"),
        (lambda value: Message("assistant", reasoning=value), "Message.reasoning"),
        (lambda value: ToolCall(value, "read"), "ToolCall.id"),
        (lambda value: ToolCall("c1", value), "ToolCall.name"),
        (lambda value: ToolCall("c1", "read", value), "ToolCall.arguments"),
        (ToolResult, "ToolResult.call_id"),
        (lambda value: ToolResult("c1", value), "ToolResult.name"),
        (lambda value: ToolResult("c1", "read", value), "ToolResult.output"),
        (lambda value: ToolResult("c1", notice=value), "ToolResult.notice"),
        (ToolError, "ToolError.message"),
    ],
)
@pytest.mark.parametrize("value", [b"raw", None, 7, {"path": "a.py"}, ["part"]])
def test_non_text_is_refused(make: Callable[[Any], object], name: str, value: Any) -> None:
    """Bytes are not guessed at, and parsed arguments are not turned into text again."""
    with pytest.raises(
        ConfigError, match=r"must be a str.*; (decode bytes|pass the JSON text)"
    ) as caught:
        make(value)

    assert caught.value.name == name
    assert caught.value.given is value


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
def test_results_outside_tool_messages_are_refused(role: Any) -> None:
    """The error says where they belong."""
    with pytest.raises(ConfigError, match=f"move the results of this {role} message into a tool"):
        Message(role, tool_results=[RESULT])


@pytest.mark.parametrize("role", ["system", "user", "tool"])
def test_calls_outside_assistant_messages_are_refused(role: Any) -> None:
    """The error says where they belong."""
    with pytest.raises(ConfigError, match=f"move the calls of this {role} message into an assist"):
        Message(role, tool_calls=[CALL])


@pytest.mark.parametrize(
    ("role", "parts"),
    [
        ("assistant", {"tool_calls": [{"id": "c1", "name": "read"}]}),
        ("assistant", {"tool_calls": CALL}),
        ("tool", {"tool_results": ["print()"]}),
        ("tool", {"tool_results": None}),
        ("user", {"media": b"\x89PNG"}),
        ("user", {"media": [b"\x89PNG"]}),
    ],
)
def test_parts_of_another_type_are_refused(role: Any, parts: dict[str, Any]) -> None:
    """A dict in a provider's shape, or a part that stands alone, is refused where it enters."""
    with pytest.raises(ConfigError, match=r"Message\..* must be a list of.*, got .*"):
        Message(role, **parts)


def test_media_that_is_text_is_refused() -> None:
    """A base64 text would come back from the store as the bytes that it encodes."""
    with pytest.raises(ConfigError, match=r"Media.data must be bytes.*, got 'iVBORw0='"):
        Media("image/png", "iVBORw0=")  # type: ignore[arg-type]


def test_reference_of_another_type_is_refused() -> None:
    """A path becomes a text; a number is a mistake."""
    assert ToolResult("c1", "read", ref=Path("out.log")).ref == "out.log"
    with pytest.raises(ConfigError, match=r"ToolResult\.ref must be a str or None, got 7"):
        ToolResult("c1", "read", ref=7)  # type: ignore[arg-type]


def test_lists_become_tuples() -> None:
    """What was passed as a list cannot change under the message."""
    calls = [CALL]
    message = Message("assistant", tool_calls=calls)

    calls.clear()

    assert message.tool_calls == (CALL,)


def test_an_edit_drops_the_native_payload() -> None:
    """An edited message never goes out unedited, and the original is as it was."""
    message = Message("assistant", "Yes.", native=ProviderPayload("example", [{"text": "Yes."}]))

    edited = message.replace(content="No.")

    assert (edited.content, edited.native) == ("No.", None)
    assert message.native is not None
    assert message.replace(native=message.native) == message


def test_edit_is_checked_like_new_message() -> None:
    """There is no way around the rules."""
    with pytest.raises(ConfigError, match=r"Message\.tool_calls"):
        Message("user", "hello").replace(tool_calls=[CALL])


@pytest.mark.parametrize("part", [Message("user"), CALL, RESULT, Media("image/png")])
def test_nothing_can_be_changed_in_place(part: Any) -> None:
    """Messages and their parts are frozen."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        part.extra = {}


@given(messages=conversations())
def test_equal_messages_have_equal_hashes(messages: list[Message]) -> None:
    """Every message is hashable, whatever its native payload and unknown fields are."""
    for message in messages:
        again = copy.deepcopy(message)
        assert again == message
        assert hash(again) == hash(message)


@given(messages=conversations())
def test_messages_survive_pickling(messages: list[Message]) -> None:
    """They can go to another process, lone surrogates and all."""
    assert pickle.loads(pickle.dumps(messages)) == messages  # noqa: S301  our own bytes


def test_arguments_are_read_when_asked_for() -> None:
    """The text stays exactly as the model wrote it."""
    call = ToolCall("c1", "read", '{ "path" : "a.py" }')

    assert call.parse() == {"path": "a.py"}
    assert call.arguments == '{ "path" : "a.py" }'


@pytest.mark.parametrize("nothing", ["", "  \n", "{}"])
def test_no_text_means_no_arguments(nothing: str) -> None:
    """Some models write nothing for a tool without parameters."""
    assert ToolCall("c1", "list", nothing).parse() == {}


@pytest.mark.parametrize(
    "text",
    ["{oops", "[1]", "null", '"text"', "3", '{"a": 1} and', "[" * 200_000, '{"n": ' + "9" * 5_000],
)
def test_non_object_arguments_raise_one_exception(text: str) -> None:
    """Whatever a model writes, a ValueError is what the caller has to handle."""
    with pytest.raises(ValueError, match=r"."):
        ToolCall("c1", "read", text).parse()


def test_failure_may_be_its_message() -> None:
    """A plain text is the message of a tool that raised."""
    result = ToolResult("c1", "run", error="no such file")  # type: ignore[arg-type]

    assert result.error == ToolError("no such file", "raised")


def test_model_reads_output_error_and_notice() -> None:
    """What is empty leaves no line."""
    error, notice = ToolError("killed"), "[Showing the last line.]"

    assert ToolResult("c1").text == ""
    assert ToolResult("c1", error=error).text == "Error: killed"
    assert ToolResult("c1", "run", "1 passed", error, notice).text == (
        "1 passed\nError: killed\n[Showing the last line.]"
    )
