"""What strategies clear of the messages that a compaction keeps is in the summary, too."""

from typing import Any

import attrs
import pytest

from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter

_COUNTER = CharCounter(1)


@attrs.define
class _Recorder:
    """A compactor that keeps what it was given."""

    inputs: list[list[Message]] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        self.inputs.append(messages)
        return "So far, so good."


def _talk(turns: int) -> list[Message]:
    talk: list[Message] = []
    for number in range(turns):
        call = ToolCall(f"c{number}", "read", f'{{"path": "src/f{number}.py"}}')
        output = f"def function_{number}(): ...\n" * 8
        talk += [
            Message("user", f"Request {number}."),
            Message("assistant", tool_calls=[call]),
            Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
            Message("assistant", f"Answer {number}."),
        ]
    return talk


def _view(compactor: Any, chain: list[Any] | None = None, state: Any = None) -> View:
    policy = Policy(4_000, keep_recent_tokens=1_500)
    chain = _CLEARING if chain is None else chain
    return View(policy, counter=_COUNTER, compactor=compactor, strategies=chain, state=state)


def _run(compactor: Any, chain: list[Any], turns: int = 40) -> list[list[Message]]:
    """Return the first request after each compaction."""
    view = _view(compactor, chain)
    talk = _talk(turns)
    requests = [view.prepare_sync(talk[:at]) for at, m in enumerate(talk) if m.role == "assistant"]
    return [each.messages for each in requests if each.compaction and each.compaction.changed]


def _call_ids(message: Message) -> list[str]:
    return [call.id for call in message.tool_calls]


def _ids(messages: list[Message]) -> list[str]:
    return [result.call_id for message in messages for result in message.tool_results]


_CLEARING = [strategies.ClearToolOutputs(600, _COUNTER, min_tokens=1)]


def test_cleared_outputs_are_summarized_once() -> None:
    """With the compaction that keeps them, and not again when they are dropped."""
    recorder = _Recorder()

    requests = _run(recorder, _CLEARING)

    assert len(recorder.inputs) == len(requests) >= 3
    for given, sent in zip(recorder.inputs, requests, strict=True):
        cleared = [
            result.call_id
            for message in sent
            for result in message.tool_results
            if "function_" not in result.output
        ]
        assert cleared
        assert _ids(given)[-len(cleared) :] == cleared
    ids = [call_id for given in recorder.inputs for call_id in _ids(given)]
    assert ids == [f"c{number}" for number in range(len(ids))]


def test_each_result_is_given_with_its_call() -> None:
    """So that a digest can say what it is the result of."""
    recorder = _Recorder()

    _run(recorder, _CLEARING)

    for messages in recorder.inputs:
        calls = [call.id for message in messages for call in message.tool_calls]
        assert calls == _ids(messages)


@pytest.mark.parametrize("chain", [[], [strategies.TruncateToolOutputs(100)]])
def test_what_is_kept_is_not_summarized(chain: list[Any]) -> None:
    """Not even if it was truncated, since the beginning of it stays."""
    recorder = _Recorder()

    requests = _run(recorder, chain)

    assert requests
    for given, sent in zip(recorder.inputs, requests, strict=True):
        assert not {*_ids(given)} & {*_ids(sent)}


def test_digest_tells_what_was_cleared() -> None:
    """The files of the kept tail are among those that were read."""
    for sent in _run(Digest(max_tokens=700, counter=_COUNTER), _CLEARING):
        text = next(each.content for each in sent if each.summary is not None)
        (*_, last) = (
            result.call_id
            for message in sent
            for result in message.tool_results
            if "function_" not in result.output
        )
        assert f"f{last[1:]}.py" in text


def _compacted(compactor: Any) -> tuple[View, list[Message], str]:
    """Return a View after its first compaction, the owner's list, and the last call it cleared."""
    view = _view(compactor)
    talk = _talk(40)
    for at, message in enumerate(talk):
        if message.role != "assistant":
            continue
        request = view.prepare_sync(talk[:at])
        if request.compaction and request.compaction.changed:
            results = [each for message in request.messages for each in message.tool_results]
            (*_, last) = (each.call_id for each in results if "function_" not in each.output)
            return view, talk[:at], last
    raise AssertionError("nothing was compacted")


@pytest.mark.parametrize("restarts", [False, True])
def test_record_tells_nothing_that_the_owner_removed(restarts: bool) -> None:
    """A call of the kept tail, with its result, which the record quotes since it was cleared."""
    view, talk, last = _compacted(Digest(max_tokens=700, counter=_COUNTER))
    assert any(f"f{last[1:]}.py" in each.content for each in view.prepare_sync(talk).messages)
    if restarts:
        view = _view(Digest(max_tokens=700, counter=_COUNTER), state=view.state())

    rest = [each for each in talk if last not in (*_call_ids(each), *_ids([each]))]
    sent = view.prepare_sync(rest).messages

    assert len(rest) == len(talk) - 2
    assert not any(f"f{last[1:]}.py" in each.content for each in sent)


@pytest.mark.parametrize("restarts", [False, True])
def test_record_holds_if_what_it_tells_is_there(restarts: bool) -> None:
    """A rewind to behind what was cleared costs no second summary."""
    recorder = _Recorder()
    view, talk, _ = _compacted(recorder)
    if restarts:
        view = _view(recorder, state=view.state())

    sent = view.prepare_sync([*talk[:-1], Message("user", "Another way.")]).messages

    assert any(each.summary for each in sent)
    assert len(recorder.inputs) == 1


def test_what_a_lost_record_told_is_told_by_the_next() -> None:
    """What was cleared is given to it again."""
    recorder = _Recorder()
    view, talk, last = _compacted(recorder)

    edited = [Message("user", "Request 0, in other words."), *_talk(40)[1:]]
    for length in range(len(talk), len(edited), 4):
        view.prepare_sync(edited[:length])

    first, second, *_ = map(_ids, recorder.inputs)
    assert last in first
    assert last in second
