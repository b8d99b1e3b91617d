"""The loop of the README and a web handler, against a server that refuses what is too large."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import openai
import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.messages import Message
from agentic.providers import openai_chat

pytestmark = pytest.mark.slow

_WINDOW = 4_000


class _Handler(BaseHTTPRequestHandler):
    """Chat completions: a reply of some length, with a usage of a token for four bytes."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sizes: ClassVar[list[int]] = []
    refused: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        """Answer, or refuse a request as OpenAI does."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        size = len(json.dumps(request["messages"])) // 4
        self.sizes.append(size)
        wrong = [found.rule for found in openai_chat.validate(request)]
        if size > _WINDOW or wrong:
            self.refused.append((size, wrong))
            error = {"code": "context_length_exceeded", "message": f"{size} tokens, {wrong}"}
            self.answer(400, {"error": error})
            return
        text = f"Reply {len(self.sizes)}: " + "as you said before, it is all green; " * 4
        usage = {"prompt_tokens": size, "completion_tokens": 45, "total_tokens": size + 45}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "c1", "object": "chat.completion", "created": 0, "model": "fake"}
        self.answer(200, {**body, "choices": [choice], "usage": usage})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        """Send JSON data."""
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


@pytest.fixture
def client() -> Iterator[openai.OpenAI]:
    """Yield the real SDK, connected to the server."""
    _Handler.sizes.clear()
    _Handler.refused.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/v1"
        with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as client:
            yield client
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("turns", [80, pytest.param(1_000, marks=pytest.mark.long)])
def test_the_loop_goes_on_and_on(client: openai.OpenAI, turns: int) -> None:
    """Nothing is refused, and the list holds everything that was said."""
    conversation = Conversation(openai_chat, _WINDOW)
    history: list[Any] = []
    summaries = 0
    for number in range(turns):
        history.append({"role": "user", "content": f"Question {number}: is it green? " * 3})
        response = client.chat.completions.create(
            model="gpt-4.1", messages=conversation.fit(history)
        )
        history.append(response.choices[0].message.model_dump(exclude_none=True))
        assert conversation.latest is not None
        summaries += conversation.latest.compaction is not None

    assert len(history) == 2 * turns
    assert not _Handler.refused
    assert max(_Handler.sizes) < _WINDOW
    assert turns / 100 < summaries < turns / 10


class _Counting:
    """A Digest that counts how often it is asked, whichever conversation asks."""

    asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        _Counting.asked += 1
        return await Digest(max_tokens=500).compact(messages)


def test_web_handler_summarizes_once_per_compaction(client: openai.OpenAI) -> None:
    """Between requests it keeps the history and the state, as JSON text, and nothing else."""
    database: dict[str, str] = {}

    def handle(user: str, text: str) -> str:
        session = json.loads(database.get(user, '{"history": [], "state": null}'))
        conversation = Conversation(
            openai_chat, Policy(_WINDOW), compactor=_Counting(), state=session["state"]
        )
        history = [*session["history"], {"role": "user", "content": text}]
        response = client.chat.completions.create(
            model="gpt-4.1", messages=conversation.fit(history)
        )
        conversation.report(response)
        reply = response.choices[0].message
        history.append(reply.model_dump(exclude_none=True))
        database[user] = json.dumps({"history": history, "state": conversation.state()})
        made.append(conversation.latest is not None and conversation.latest.compaction is not None)
        return reply.content or ""

    made: list[bool] = []
    for number in range(100):
        assert handle("ann", f"Question {number}: is it green? " * 3).startswith("Reply")

    assert _Counting.asked == sum(made)
    assert 2 < _Counting.asked < 15
    assert not _Handler.refused
    state = json.loads(database["ann"])["state"]
    assert len(json.dumps(state)) < 10_000
