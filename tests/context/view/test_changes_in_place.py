"""A system prompt and tools that change within a conversation are appended, on request.

The judge is a model server that refuses or drops reasoning behind a changed beginning.
"""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context import strategies
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.view import Prepared, View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Input, Runner
from agentic.messages import Message
from agentic.protocols import RequestPrefix, ToolDefinition
from agentic.providers import anthropic, openai_responses
from agentic.testing import ModelServer, ScriptedAnswer
from agentic.tokens import CharCounter
from agentic.tools import Registry, tool

_COUNTER = CharCounter(4)
_READ = ToolDefinition("read", "Read a file.")
_WRITE = ToolDefinition("write", "Write a file.")
_WIRES = ["anthropic", "openai"]
_PROMPT = "Be brief. " * 600


class _Events:
    """A streamed reply."""

    def __init__(self, events: Any) -> None:
        self.events = events

    async def __aenter__(self) -> Any:
        return self._data()

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    async def _data(self) -> Any:
        for _, data in self.events:
            yield data


class _Sdk:
    """A client of either SDK whose requests a server answers that binds reasoning."""

    def __init__(self) -> None:
        self.answer = ScriptedAnswer(
            text="It is as you say. " * 9, thinking="Hm.", thinking_tokens=20
        )
        self.server = ModelServer(script=lambda _: self.answer, strict=True)
        self.sent: list[dict[str, Any]] = []
        self.betas: list[str] = []
        self.default_headers: dict[str, str] = {}
        self.base_url = "https://api.openai.com/v1/"
        self.messages = SimpleNamespace(create=self._messages)
        self.responses = SimpleNamespace(create=self._responses)

    async def _messages(self, **body: Any) -> Any:
        return self._post("/v1/messages", body)

    async def _responses(self, **body: Any) -> Any:
        return self._post("/v1/responses", body)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        headers = body.pop("extra_headers", {})
        self.betas.append(headers.get("anthropic-beta", ""))
        self.sent.append(json.loads(json.dumps(body)))
        reply = self.server.post(path, self.sent[-1], headers)
        assert reply.status == 200, reply.body
        return _Events(reply.events) if body.get("stream") else reply.body


def _decider(wire: str, sdk: Any, *, appends_changes: bool = True) -> Any:
    if wire == "openai":
        return openai_responses.Decider(sdk, "gpt-6.2-sol", appends_changes=appends_changes)
    options = {"max_tokens": 1_000}
    return anthropic.Decider(
        sdk, "claude-fable-5-2", appends_changes=appends_changes, options=options
    )


class _Talk:
    """A conversation whose owner passes the system prompt and the tools that hold now."""

    def __init__(self, wire: str, *, appends_changes: bool = True, **options: Any) -> None:
        self.sdk = _Sdk()
        self.decider = _decider(wire, self.sdk, appends_changes=appends_changes)
        self.options = {"policy": Policy(100_000), **options}
        self.history: list[Message] = []
        self.prompt, self.tools = _PROMPT, [_READ]
        self.view = self._view(None)

    def _view(self, state: Any) -> View:
        return View(
            **self.options,
            counter=_COUNTER,
            model=self.decider.model,
            change_writer=self.decider,
            state=state,
        )

    def restart(self) -> None:
        self.view = self._view(json.loads(json.dumps(self.view.state())))

    def ask(self, text: str = "Why? " * 60) -> Prepared:
        self.history.append(Message("user", text))
        return self.send()

    def send(self) -> Prepared:
        prepared = self.view.prepare_sync(self.history, system_prompt=self.prompt, tools=self.tools)
        request = Input(
            system_prompt=self.prompt,
            tools=tuple(self.tools),
            user_message="",
            history=tuple(prepared.messages),
            prefix=prepared.prefix,
        )
        decision = asyncio.run(self.decider.decide(request))
        self.history.append(decision.to_message())
        return prepared

    @property
    def faults(self) -> tuple[int, int, int, int]:
        """How much the server noticed of changes."""
        report = self.sdk.server.report
        return (
            report.changes,
            report.reasoning_stale,
            report.reasoning_dropped,
            report.reasoning_lost,
        )


@pytest.mark.parametrize("wire", _WIRES)
def test_changed_prompt_and_tools_are_appended(wire: str) -> None:
    """Each request extends the last one, reasoning stays valid, and the cache is read."""
    talk = _Talk(wire)
    talk.ask()

    talk.prompt = "Be kind."
    prompt = talk.ask()
    talk.tools = [_READ, _WRITE]
    tools = talk.ask()
    talk.ask()

    assert (prompt.extends, prompt.changes, tools.extends, tools.changes) == (True, (), True, ())
    assert tools.prefix == RequestPrefix(_PROMPT, (_READ,))
    assert talk.faults == (0, 0, 0, 0)
    assert talk.sdk.server.report.reasoning_made == 4
    reads = [each.read for each in talk.sdk.server.served]
    assert reads[0] == 0
    assert reads[1:] == sorted(reads[1:])
    assert reads[1] > _COUNTER.count(_PROMPT)


@pytest.mark.parametrize("wire", _WIRES)
def test_without_the_option_a_change_begins_an_epoch(wire: str) -> None:
    """As before: the decider writes nothing."""
    talk = _Talk(wire, appends_changes=False)
    talk.ask()

    talk.prompt, talk.tools = "Be kind.", [_WRITE]
    prepared = talk.ask()

    assert prepared.changes == ("system_changed", "tools_changed")
    assert prepared.prefix is None
    assert talk.faults[0] == 1


def test_anthropic_removes_and_replaces_tools() -> None:
    """A tool that has another definition is removed and added."""
    talk = _Talk("anthropic")
    talk.ask()
    talk.tools = [ToolDefinition("read", "Read a whole file."), _WRITE]
    talk.ask()
    talk.tools = [_WRITE]

    assert talk.ask().extends

    changes = [m["content"] for m in talk.sdk.sent[-1]["messages"] if m["role"] == "system"]
    assert [[block["type"] for block in content] for content in changes] == [
        ["tool_removal", "tool_addition", "tool_addition"],
        ["tool_removal"],
    ]
    assert talk.faults == (0, 0, 0, 0)


def test_openai_has_no_form_for_a_removal() -> None:
    """The tools of the request are changed instead, and say so."""
    talk = _Talk("openai")
    talk.tools = [_READ, _WRITE]
    talk.ask()
    talk.tools = [_READ]

    prepared = talk.ask()

    assert (prepared.extends, prepared.changes) == (False, ("tools_changed",))
    assert [tool["name"] for tool in talk.sdk.sent[-1]["tools"]] == ["read"]


def test_what_the_wire_does_not_show_is_not_said() -> None:
    """The order of the tools, and what their author says about effects."""
    talk = _Talk("anthropic")
    talk.tools = [_READ, _WRITE]
    talk.ask()
    hint = ToolDefinition("read", "Read a file.", annotations={"readOnlyHint": True})
    talk.tools = [_WRITE, hint]

    assert talk.ask().extends

    assert [message["role"] for message in talk.sdk.sent[-1]["messages"]][-1] == "user"
    assert talk.faults == (0, 0, 0, 0)


@pytest.mark.parametrize("wire", _WIRES)
def test_epoch_begins_with_what_holds_now(wire: str) -> None:
    """A compaction has the latest prompt in front, and no message that repeats it."""
    talk = _Talk(wire, policy=Policy(4_000), compactor=Digest())
    talk.ask()
    talk.prompt, talk.tools = "Be kind.", [_READ, _WRITE]
    assert talk.ask().extends

    while (prepared := talk.ask()).extends:
        assert len(talk.history) < 100

    assert {"compaction", "system_changed", "tools_changed"} <= set(prepared.changes)
    assert prepared.prefix is None
    latest = json.dumps(talk.sdk.sent[-1])
    assert "tool_addition" not in latest
    assert "additional_tools" not in latest
    assert "From now on" not in latest
    assert talk.sdk.server.report.refused == {}


@pytest.mark.parametrize("wire", _WIRES)
def test_state_carries_what_was_appended(wire: str) -> None:
    """Another process goes on with the same request, also if the prompt has changed meanwhile."""
    talk = _Talk(wire)
    talk.ask()
    talk.prompt, talk.tools = "Be kind.", [_READ, _WRITE]
    talk.ask()

    talk.restart()
    assert talk.ask().extends
    talk.prompt = "Be exact."
    talk.restart()
    assert talk.ask().extends

    assert talk.faults == (0, 0, 0, 0)


def test_change_waits_for_no_reply_that_never_came() -> None:
    """Anthropic takes a system message only before a reply, so the next epoch begins."""
    talk = _Talk("anthropic")
    talk.ask()
    talk.prompt = "Be kind."
    talk.ask()
    talk.history.pop()  # the reply was lost

    prepared = talk.ask()

    assert (prepared.extends, prepared.changes) == (False, ("system_changed",))
    assert talk.sdk.server.report.refused == {}


def test_owner_who_keeps_what_was_sent_has_no_change_twice() -> None:
    """Its list holds the message in place, which a new epoch leaves out."""
    talk = _Talk("anthropic", strategies=[strategies.TrimRounds(1)], policy=Policy(3_000))
    talk.ask()
    talk.prompt, talk.tools = "Be kind.", [_READ, _WRITE]
    for _ in range(12):
        talk.history.append(Message("user", "Why? " * 60))
        sent = talk.send()
        talk.history = [*sent.messages, talk.history[-1]]

    assert talk.sdk.server.report.refused == {}
    assert "tool_addition" not in json.dumps(talk.sdk.sent[-1])


def test_explanation_names_nothing_for_what_was_appended() -> None:
    """Nothing is missing, and the size includes what was added."""
    talk = _Talk("anthropic")
    talk.ask()
    talk.history.append(Message("user", "And now?"))
    before = talk.view.check(talk.history, system_prompt=talk.prompt, tools=talk.tools).tokens
    prompt = "Be kind. " * 400
    after = talk.view.check(talk.history, system_prompt=prompt, tools=talk.tools).tokens
    talk.prompt = prompt
    talk.send()

    assert list(talk.view.explain()) == []
    assert talk.view.explain().epoch.changes == ()
    assert after - before == pytest.approx(900, abs=90)


_STEPS = st.lists(
    st.one_of(
        st.just(("ask", 0)),
        st.tuples(st.just("prompt"), st.integers(0, 2)),
        st.tuples(st.just("tools"), st.integers(0, 7)),
        st.just(("restart", 0)),
        st.just(("rewind", 0)),
        st.just(("lose", 0)),
    ),
    max_size=16,
)


@pytest.mark.parametrize("wire", _WIRES)
@given(steps=_STEPS)
@settings(max_examples=25, deadline=None)
def test_whatever_changes_no_request_is_refused(wire: str, steps: list[tuple[str, int]]) -> None:
    """A request that the View says extends the last one does so for the server."""
    talk, all_tools = _Talk(wire, policy=Policy(4_000), compactor=Digest()), [_READ, _WRITE]
    all_tools.append(ToolDefinition("read.all", "Read all files."))

    for step, number in [*steps, ("ask", 0), ("ask", 0)]:
        if step == "ask":
            prepared = talk.ask()
            change = talk.sdk.server.served[-1].change
            assert not (prepared.extends and change), change
        elif step == "prompt":
            talk.prompt = (_PROMPT, "Be kind.", "")[number]
        elif step == "tools":
            talk.tools = [each for bit, each in enumerate(all_tools) if number >> bit & 1]
        elif step == "restart":
            talk.restart()
        elif step == "rewind":
            del talk.history[-2:]
        elif talk.history:
            talk.history.pop()

    assert talk.sdk.server.report.refused == {}
    assert talk.sdk.server.report.reasoning_dropped == 0


@tool
def read(path: str) -> str:
    """Read a file."""
    return path * 90


@tool
def write(path: str) -> str:
    """Write a file."""
    return path


@pytest.mark.parametrize("wire", _WIRES)
def test_runner_sends_the_prefix_of_the_epoch(wire: str) -> None:
    """A tool that is registered between two runs is offered by an item, and called."""
    sdk = _Sdk()
    budget = Manager(_COUNTER, Digest(), Policy(100_000))
    parts = _decider(wire, sdk), Registry([read]), MemoryStore(), budget
    runner = Runner(*parts, system_prompt="Be brief.")
    asyncio.run(runner.run("Why?"))

    runner.executor = Registry([read, write])
    runner.system_prompt = "Be kind."
    result = asyncio.run(runner.run("And now?"))

    assert result.reply
    assert sdk.server.report.changes == 0
    assert sdk.sent[-1]["tools"] == sdk.sent[0]["tools"]


@pytest.mark.parametrize(
    ("model", "accepted"),
    [
        ("claude-fable-5-2", True),
        ("claude-opus-4-8", True),
        ("anthropic.claude-opus-6-20270101-v1:0", True),
        ("claude-sonnet-5-5", True),
        ("our-alias", True),
        ("claude-sonnet-5", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-opus-4-20250514", False),
        ("claude-3-5-haiku-20241022", False),
    ],
)
def test_option_is_refused_for_models_without_the_form(model: str, accepted: bool) -> None:
    """Of an alias the caller knows more."""

    def make() -> Any:
        sdk: Any = _Sdk()
        return anthropic.Decider(sdk, model, appends_changes=True)

    if accepted:
        assert make().appends_changes
    else:
        with pytest.raises(ConfigError, match=f"must be False for {model}"):
            make()


def test_beta_is_sent_only_with_a_change_of_tools() -> None:
    """A changed prompt needs none."""
    talk = _Talk("anthropic")
    talk.ask()
    talk.prompt = "Be kind."
    talk.ask()
    talk.tools = []
    talk.ask()
    talk.ask()

    betas = ["inline-tools-2026-09-15" in each for each in talk.sdk.betas]
    assert betas == [False, False, True, True]
