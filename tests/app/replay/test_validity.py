"""Whether requests are sound: told at the cost of what is new, as a look at all of each tells."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.app.replay._validity import Validity, adapters_of, refusal_of
from agentic.context.strategies import ClearToolOutputs
from agentic.messages import Message
from agentic.providers import anthropic, openai_responses
from agentic.providers._registry import adapter_names
from agentic.testing import conversations
from agentic.tokens import CharCounter

Views = Sequence[list[Message]]
Talk = Callable[..., list[Message]]


def looked_at(views: Views, adapters: Sequence[ModuleType]) -> dict[int, str]:
    """Look at requests of which each breaks with the one before."""
    validity = Validity(tuple(adapters))
    for view in views:
        validity.note(len(view))
        validity.conclude(view)
    return validity.refusals


def whole(views: Views, adapters: Sequence[ModuleType]) -> dict[int, str]:
    """Look at all of each."""
    found = {at: refusal_of(view, adapters) for at, view in enumerate(views)}
    return {at: problem for at, problem in found.items() if problem}


def cleared(message: Message, output: str = "") -> Message:
    """Clear the outputs of a message."""
    return message.replace(
        tool_results=[attrs.evolve(each, output=output) for each in message.tool_results]
    )


@st.composite
def damaged(draw: st.DrawFn) -> list[list[Message]]:
    """Make requests of one session: what was said so far, some of it cleared, lost or moved."""
    messages = draw(conversations(max_rounds=8))
    views = [messages[: len(messages) // 2], messages]
    for _ in range(draw(st.integers(1, 5))):
        view = list(draw(st.sampled_from(views)))
        for _ in range(draw(st.integers(0, 3))):
            if not view:
                break
            at, to = (draw(st.integers(0, len(view) - 1)) for _ in range(2))
            edit = draw(st.sampled_from(["clear", "drop", "move", "repeat"]))
            message = view[at]
            if edit in {"drop", "move"}:
                del view[at]
            if edit != "drop":
                view.insert(at if edit == "clear" else to, message)
            if edit == "clear":
                view[at : at + 2] = [cleared(message, draw(st.sampled_from(["", " ", "[1 line]"])))]
        views.append(view)
    return views


@given(views=damaged())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_incremental_checks_equal_whole_checks(views: list[list[Message]]) -> None:
    """Clean or damaged, by the rules of all providers, and by none but pairing."""
    for names in (adapter_names(), ()):
        adapters = adapters_of(names)
        assert looked_at(views, adapters) == whole(views, adapters)


@pytest.mark.parametrize("damage", ["lost call", "lost result", "strayed result", "orphan"])
def test_a_torn_request_is_refused(damage: str, talk: Talk) -> None:
    """Wherever it is torn, though everything else in it was found sound before."""
    messages = talk(40)
    views = [messages]
    for at in range(10, 70, 6):
        call, result = messages[at : at + 2]
        instead = {
            "lost call": [result],
            "lost result": [call],
            "strayed result": [call, Message("user", "Wait."), result],
            "orphan": [call, result, result],
        }[damage]
        assert call.tool_calls
        views += [[*messages[:at], *instead, *messages[at + 2 :]], messages]

    refusals = looked_at(views, adapters_of(["anthropic"]))

    assert refusals == dict.fromkeys(range(1, len(views), 2), "a call is separated from its result")


def test_encoders_keep_repeated_ids_apart() -> None:
    """Rounds that are not looked at together may share ids: a look at the whole accepts that."""
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "text"}
    read = openai_responses.decode([{**call, "arguments": "{}"}, output])
    between = [Message("user" if at % 2 else "assistant", f"{at}") for at in range(1, 30)]
    sound = [Message("user", "Hello."), *read, *between]
    views = [sound, [*sound, *map(attrs.evolve, read), Message("user", "And?")]]

    for adapter in adapters_of(adapter_names()):
        assert all(message.native for message in read)
        assert looked_at(views, [adapter]) == whole(views, [adapter]) == {}


@attrs.define
class Counted:
    """The rules of a provider, and how many messages they were asked about."""

    messages: int = 0
    name = anthropic.ADAPTER.name

    def encode_request(self, messages: list[Message]) -> Mapping[str, Any]:
        """Encode them, and count."""
        self.messages += len(messages)
        return anthropic.encode_request(messages)

    def validate(self, request: Mapping[str, Any]) -> Any:
        """Look at a request."""
        return anthropic.validate(request)


def test_clearing_costs_looks_at_cleared_only(talk: Talk) -> None:
    """A hundred cuts of a session that is never dropped look at each message a few times."""
    messages = talk(400, words=40)
    counted = Counted()
    validity = Validity((counted,))  # type: ignore[arg-type]
    strategy = ClearToolOutputs(3_000, CharCounter(), min_tokens=1)
    for at in range(10, len(messages), 6):
        view = strategy.compact(messages[:at])
        validity.note(len(view))
        validity.conclude(view)

    assert validity.refusals == {}
    assert counted.messages < 4 * len(messages)


def test_only_the_latest_reply_is_checked() -> None:
    """Each of them ends a request of its own, which is as long as the session by then."""
    counted = Counted()
    validity = Validity((counted,))  # type: ignore[arg-type]
    said = [Message("user", "Hello."), *(Message("assistant", f"{at}") for at in range(300))]
    for length in range(1, len(said)):
        validity.note(length)
    validity.conclude(said[:-1])

    assert validity.refusals == {}
    assert counted.messages < 12 * len(said)
