"""A run that was open while its session was redacted, undone or replaced by somebody else."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentic.context.budget import Manager, Policy
from agentic.durable.dbos import RunOutcome, Service
from agentic.durable.dbos._stores import OpenStores, SessionWriter
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter
from agentic.tools import Approval, RequireApproval, ToolDefinition

SECRET = "sk-live-4f9c1a77"  # noqa: S105  nobody's


class Asking:
    """A model that calls the tool once in each run, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def decide(self, request: Input, /) -> Decision:
        """Keep the request, and decide by the latest message."""
        self.told.append("\n".join(str(message) for message in request.history))
        if request.history[-1].role == "user":
            return Decision("I look.", [ToolCall("", "look", "{}")])
        return Decision("I have looked.")


class Look:
    """One tool, which counts how often it is used."""

    def __init__(self) -> None:
        self.used = 0

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        self.used += 1
        return ToolResult(output="It is there.")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


class Summaries:
    """A compactor that needs no model."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize what is told."""
        return "So far: " + " ".join(message.content for message in messages)


def _open(folder: Path) -> Any:
    return SqliteSessions(folder / "sessions.db")


async def _begin(folder: Path) -> None:
    """Make a session with a secret, a summary that leaves it out, and what was said since."""
    async with _open(folder).open("a") as store:
        await store.append(Message("user", f"The key is {SECRET}", id="leak"))
        await store.append(Message("assistant", "I use it now."))
        await store.load()
        await store.replace([Message("user", f"They gave the key {SECRET}.")])
        await store.append(Message("assistant", "Go on."))


def _wait_and_change(
    folder: Path, change: Callable[[Any], Awaitable[None]], **parts: Any
) -> tuple[RunOutcome, Asking, Look]:
    """Change the session while a run waits for an answer, then give the answer."""
    model, tools = Asking(), Look()
    executor = RequireApproval(tools, Nobody(), needs=["look"])

    async def serve() -> RunOutcome:
        await _begin(folder)
        service = Service(
            Runner(model, executor, **parts),
            sessions=_open(folder),
            database_url=f"sqlite:///{folder}/runs.db",
        )
        async with service, service.worker(), asyncio.timeout(60):
            run = await service.submit("a", "look")
            while not (questions := await service.questions(run)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            await change(_open(folder))
            await service.approve(run, questions[0]["call_id"])
            return await service.result(run)

    return asyncio.run(serve()), model, tools


def _stored(folder: Path) -> tuple[list[str], list[str]]:
    store = _open(folder).open("a")
    history, archive = asyncio.run(store.load()), asyncio.run(store.full())
    return [each.content for each in history], [each.content for each in archive]


async def _redact(sessions: Any) -> None:
    await sessions.redact("a", "leak", "[gone]", secret=SECRET)


async def _undo(sessions: Any) -> None:
    async with sessions.open("a") as store:
        await store.restore()


async def _replace(sessions: Any) -> None:
    async with sessions.open("a") as store:
        await store.load()
        await store.replace([Message("user", "Another summary.")])


def _compacting() -> Manager:
    policy = Policy(120, reserve_tokens=20, keep_recent_tokens=20, min_recent_messages=1)
    return Manager(CharCounter(), Summaries(), policy=policy)


@pytest.mark.parametrize("budget", [False, True], ids=["whole", "compacting"])
def test_waiting_run_does_not_undo_a_redaction(tmp_path: Path, budget: bool) -> None:
    """Neither does the model read the secret again, nor does a compaction write it back."""
    parts = {"budget": _compacting()} if budget else {}
    outcome, model, tools = _wait_and_change(tmp_path, _redact, **parts)

    assert (outcome.state, tools.used, len(model.told)) == ("failed", 0, 1)
    assert "was redacted, undone, replaced or deleted while this run was open" in outcome.problem
    assert SECRET not in str(_stored(tmp_path))


@pytest.mark.parametrize(("change", "first"), [(_undo, "The key"), (_replace, "Another summary")])
def test_waiting_run_keeps_the_history_of_others(tmp_path: Path, change: Any, first: str) -> None:
    """What somebody has made of the session meanwhile stays, and the run says why it ended."""
    outcome, model, tools = _wait_and_change(tmp_path, change, budget=_compacting())

    assert (outcome.state, tools.used, len(model.told)) == ("failed", 0, 1)
    assert "submit the message again" in outcome.problem
    history, _ = _stored(tmp_path)
    assert history[0].startswith(first)
    assert not any("So far" in text for text in history)


def test_append_of_others_does_not_end_a_run(tmp_path: Path) -> None:
    """It hides nothing, and nothing of it is hidden."""

    async def append(sessions: Any) -> None:
        async with sessions.open("a") as store:
            await store.append(Message("user", "By the way."))

    outcome, _, tools = _wait_and_change(tmp_path, append)

    assert (outcome.state, tools.used) == ("done", 1)
    assert "By the way." in _stored(tmp_path)[0]


class _Held:
    """A worker whose lease is never lost."""

    worker, seconds = "w", 15.0

    async def confirm(self) -> None:
        """Confirm."""


@pytest.mark.parametrize("change", [_redact, _undo, _replace])
def test_compaction_of_another_history_is_dropped(tmp_path: Path, change: Any) -> None:
    """The view that a run has left stands for a history that is gone."""

    async def compact() -> tuple[Any, Any]:
        await _begin(tmp_path)
        stores = OpenStores(_open(tmp_path), 2)
        writer = SessionWriter(stores, "a", _Held())  # type: ignore[arg-type]
        point = await writer.read(lambda store: store.point())
        view = f'[{{"v": 1, "role": "user", "content": "So far: {SECRET}"}}]'
        ref = str(await writer.write(lambda store: store.put(view)))
        await writer.release()
        await change(_open(tmp_path))
        before = _stored_now = await _open(tmp_path).open("a").load()
        done = await writer.compact(ref, 2, point)
        await writer.release()
        await stores.aclose()
        return done, before == _stored_now == await _open(tmp_path).open("a").load()

    done, is_unchanged = asyncio.run(compact())

    assert "was redacted, undone, replaced or deleted" in done["dropped"]
    assert is_unchanged


def test_compaction_is_stored_once(tmp_path: Path) -> None:
    """Whoever repeats it after a kill finds its own replacement, which is no change by others."""

    async def compact() -> list[Any]:
        await _begin(tmp_path)
        stores = OpenStores(_open(tmp_path), 2)
        writer = SessionWriter(stores, "a", _Held())  # type: ignore[arg-type]
        point = await writer.read(lambda store: store.point())
        view = '[{"v": 1, "role": "user", "content": "So far."}]'
        ref = str(await writer.write(lambda store: store.put(view)))
        done = [await writer.compact(ref, 2, point) for _ in range(2)]
        await writer.release()
        await stores.aclose()
        return done

    assert asyncio.run(compact()) == [{}, {}]
    assert _stored(tmp_path)[0] == ["So far."]
