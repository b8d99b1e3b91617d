"""What holds for any client: who only appends is never refused; who edits and keeps is always."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentic.testing import AgentScript, ModelServer

SHAPES = st.builds(
    AgentScript,
    turns=st.integers(1, 4),
    rounds=st.integers(0, 3),
    calls=st.integers(1, 3),
    thinking=st.sampled_from(["", "Hm."]),
    seed=st.integers(0, 9),
)


def _send(server: ModelServer, messages: list[Any]) -> Any:
    body = {"model": "claude-fable-5-2", "max_tokens": 9, "messages": messages}
    return server.post("/v1/messages", copy.deepcopy(body))


def _talk(server: ModelServer, script: AgentScript, sizes: list[int]) -> list[Any]:
    """Return the messages of a whole session of a client that only appends."""
    messages: list[Any] = []
    size = iter(sizes * 99)
    while not script.done:
        messages.append({"role": "user", "content": f"Turn {len(messages)}." + "u" * next(size)})
        while True:
            reply = _send(server, messages).body
            messages.append({"role": "assistant", "content": reply["content"]})
            if reply["stop_reason"] != "tool_use":
                break
            ids = [block["id"] for block in reply["content"] if block["type"] == "tool_use"]
            results = [
                {"type": "tool_result", "tool_use_id": each, "content": "r" * next(size)}
                for each in ids
            ]
            messages.append({"role": "user", "content": results})
    return messages


@given(SHAPES, st.lists(st.integers(1, 3_000), min_size=1, max_size=5), st.booleans())
def test_client_that_appends_is_never_refused(
    script: AgentScript, sizes: list[int], strict: bool
) -> None:
    """It loses nothing and changes nothing."""
    server = ModelServer(script=script, strict=strict)

    _talk(server, script, sizes)

    report = server.report
    assert report.requests == report.reasoning_made == script.turns * (script.rounds + 1)
    assert (report.refused, report.changes) == ({}, 0)
    assert (report.reasoning_lost, report.reasoning_stale, report.reasoning_dropped) == (0, 0, 0)


@given(SHAPES, st.data())
def test_client_that_edits_is_always_refused(script: AgentScript, data: st.DataObject) -> None:
    """If it keeps any thinking that was made behind the edit."""
    server = ModelServer(script=script)
    messages = _talk(server, script, [5])
    thinking = [
        (at, place)
        for at, message in enumerate(messages)
        if message["role"] == "assistant"
        for place, block in enumerate(message["content"])
        if block["type"] == "thinking"
    ]
    at, _ = data.draw(st.sampled_from(thinking), label="thinking that is kept")
    edited = data.draw(st.integers(0, at - 1), label="message that is edited")
    _edit(messages[edited], data.draw(st.sampled_from("abc")))

    reply = _send(server, [*messages, {"role": "user", "content": "And now?"}])

    assert reply.status == 400
    assert "bound to a different conversation" in reply.body["error"]["message"]


def _edit(message: Any, letter: str) -> None:
    """Change a message without breaking any pair."""
    if isinstance(message["content"], str):
        message["content"] += letter
    elif message["role"] == "user":
        message["content"][-1]["content"] += letter
    else:
        message["content"].insert(1, {"type": "text", "text": letter})


@given(SHAPES, st.data())
def test_any_end_of_the_chain_is_accepted(script: AgentScript, data: st.DataObject) -> None:
    """Thinking may be left out from the front and from the end; a gap is refused."""
    server = ModelServer(script=script)
    messages = _talk(server, script, [5])
    count = sum(message["role"] == "assistant" for message in messages)
    kept = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    flags = iter(kept)
    for message in messages:
        if message["role"] == "assistant" and not next(flags):
            del message["content"][0]

    reply = _send(server, [*messages, {"role": "user", "content": "And now?"}])

    numbers = [number for number, keep in enumerate(kept) if keep]
    gapless = not numbers or len(numbers) == numbers[-1] - numbers[0] + 1
    assert (reply.status == 200) == gapless
