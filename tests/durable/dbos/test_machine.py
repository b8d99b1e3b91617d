"""Any sequence of what people do to a durable session keeps its promises.

Runs of one session are submitted, steered, approved and cancelled, while others redact the session,
undo a compaction or store one, and the worker ends and starts again.
"""

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agentic.bridges.dbos import Service
from agentic.errors import ConfigError, NothingToRestore
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tools import Approval, RequireApproval, ToolDefinition

OVER = {"done", "failed", "cancelled"}


class Model:
    """Calls the tool if the request asks for that, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the latest message."""
        self.told.append(str(request.history))
        latest = request.history[-1]
        if latest.role == "user" and "ask" in latest.content:
            return Decision("I look.", [ToolCall("", "look", "{}")])
        return Decision(f"Done: {request.user_message}")


class Look:
    """One tool, which counts how often it is used."""

    def __init__(self) -> None:
        self.used = 0

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look", retry="never")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        self.used += 1
        return ToolResult(output="It is there.")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


class DurableSession(RuleBasedStateMachine):
    """One session, its runs, and what may be said of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.Runner()
        self.model, self.tools = Model(), Look()
        self.runs: list[str] = []
        self.secrets: list[str] = []
        self.removed: dict[str, int] = {}
        self.changes = self.approved = 0
        executor = RequireApproval(self.tools, Nobody(), needs=["look"])
        self.sessions = SqliteSessions(Path(self.folder.name) / "sessions.db")
        self.service = Service(
            Runner(self.model, executor),
            sessions=self.sessions,
            database_url=f"sqlite:///{self.folder.name}/runs.db",
            lease_seconds=1.0,
        )
        self.stack = contextlib.AsyncExitStack()
        self.loop.run(self.service.__aenter__())
        self.loop.run(self._start())

    async def _start(self) -> None:
        await self.stack.enter_async_context(self.service.worker())

    async def _settle(self) -> list[Any]:
        """Wait until every run is over, or waits for a person, or for such a run."""
        async with asyncio.timeout(60):
            while True:
                runs = await self.service.runs()
                states = {run.state for run in runs}
                if "running" not in states and ("queued" not in states or "waiting" in states):
                    return list(runs)
                await asyncio.sleep(0.05)

    async def _store(self, step: Any) -> None:
        """Change the session as somebody else would, once the lease of the latest run has ended."""
        async with asyncio.timeout(60):
            while True:
                try:
                    async with self.sessions.open("a") as store:
                        await step(store)
                        return
                except Exception as problem:
                    if "is leased" not in str(problem):
                        raise
                await asyncio.sleep(0.1)

    @rule(asks=st.booleans(), steered=st.booleans())
    def submit(self, *, asks: bool, steered: bool) -> None:
        """Submit a message with a secret of its own."""
        self.secrets.append(f"sk/{len(self.secrets):04}+live")

        async def submit() -> None:
            text = f"{'ask' if asks else 'say'} {self.secrets[-1]}"
            self.runs.append(await self.service.submit("a", text))
            if steered:
                with contextlib.suppress(ConfigError):  # it is over
                    await self.service.steer(self.runs[-1], "Hurry.")
            await self._settle()

        self.loop.run(submit())

    @precondition(lambda self: self.runs)
    @rule(allowed=st.booleans())
    def approve(self, *, allowed: bool) -> None:
        """Answer whatever waits."""
        self.loop.run(self._approve(allowed=allowed))

    async def _approve(self, *, allowed: bool) -> bool:
        waiting = [run for run in await self._settle() if run.state == "waiting"]
        for run in waiting:
            for question in await self.service.questions(run.id):
                self.approved += allowed
                await self.service.approve(run.id, question["call_id"], allowed)
        while waiting and (await self.service.find(waiting[0].id)).state not in OVER:
            if await self.service.questions(waiting[0].id):
                break  # a message that steered it has made it ask again
            await asyncio.sleep(0.05)
        await self._settle()
        return bool(waiting)

    @precondition(lambda self: self.runs)
    @rule()
    def cancel(self) -> None:
        """Cancel the latest run."""

        async def cancel() -> None:
            with contextlib.suppress(ConfigError):  # it is over
                await self.service.cancel(self.runs[-1])
                await self.service.result(self.runs[-1])
            await self._settle()

        self.loop.run(cancel())

    @precondition(lambda self: self.secrets)
    @rule(data=st.data())
    def redact(self, data: st.DataObject) -> None:
        """Remove one secret, from the session and from what runs have recorded."""
        secret = data.draw(st.sampled_from(self.secrets))

        async def redact() -> None:
            if not await self.sessions.open("a").full():
                return

            async def step(_: Any) -> None:
                await self.service.redact("a", 0, "[gone]", secret=secret)

            await self._store(step)
            self.removed[secret] = len(self.model.told)
            self.changes += 1

        self.loop.run(redact())

    @precondition(lambda self: self.runs)
    @rule(undo=st.booleans())
    def rewrite(self, *, undo: bool) -> None:
        """Undo the latest summary, or store another one."""

        async def step(store: Any) -> None:
            if undo:
                with contextlib.suppress(NothingToRestore):
                    await store.restore()
            else:
                await store.load()
                await store.replace([Message("user", "A summary.")])

        self.loop.run(self._store(step))
        self.changes += 1

    @rule()
    def restart(self) -> None:
        """End the worker in the middle of what it does, and start another one."""

        async def restart() -> None:
            await self.stack.aclose()
            await self._start()
            await self._settle()

        self.loop.run(restart())

    def teardown(self) -> None:
        """Let all runs end, and look at what they have done."""
        try:
            self.loop.run(self._check())
        finally:
            self.loop.run(self.stack.aclose())
            self.loop.run(self.service.__aexit__())
            self.loop.close()
            self.folder.cleanup()

    async def _check(self) -> None:
        while await self._approve(allowed=True):
            pass
        outcomes = [await self.service.result(run) for run in self.runs]
        failed = [outcome for outcome in outcomes if outcome.state == "failed"]
        assert all("while this run was open" in outcome.problem for outcome in failed)
        assert bool(failed) <= bool(self.changes)
        assert self.tools.used <= self.approved
        files = self._read_files()
        for secret, count in self.removed.items():
            assert not any(secret in text for text in self.model.told[count:])
            assert secret.encode() not in files

    def _read_files(self) -> bytes:
        return b"".join(path.read_bytes() for path in Path(self.folder.name).glob("*.db*"))


@pytest.mark.long
def test_any_sequence_keeps_the_promises() -> None:
    """No secret comes back, no call is made without an answer, and every run ends for a reason."""
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    slow = settings(
        max_examples=8,
        stateful_step_count=12,
        deadline=None,
        phases=[Phase.generate],  # each example takes seconds, so none is made smaller
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(DurableSession, settings=slow)
