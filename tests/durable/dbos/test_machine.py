"""Any sequence of what people do to a durable session keeps its promises.

Runs of one session are submitted, steered, approved and cancelled, while others redact the session,
undo a compaction or store one, and the worker process is ended or killed, and another one starts.
"""

import asyncio
import contextlib
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agentic.errors import ConfigError, NothingToRestore
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message

OVER = {"done", "failed", "cancelled"}
WORKER = Path(__file__).with_name("machine_worker.py")


class DurableSession(RuleBasedStateMachine):
    """One session, its runs, and what may be said of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        place = Path(self.folder.name)
        parts = runpy.run_path(str(WORKER))
        self.loop = asyncio.Runner()
        self.told = parts["Record"](place / "told.jsonl")
        self.used = parts["Record"](place / "used.jsonl")
        self.runs: list[str] = []
        self.secrets: list[str] = []
        self.removed: dict[str, int] = {}
        self.changes = self.approved = 0
        self.sessions = SqliteSessions(place / "sessions.db")
        self.service = parts["make_service"](place)
        self.loop.run(self.service.__aenter__())
        self.worker = self._start()

    def _start(self) -> Any:
        """Start a worker, and wait until it works."""
        command = [sys.executable, str(WORKER), self.folder.name]
        log = Path(self.folder.name) / "worker.log"
        with log.open("ab") as errors:
            worker = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n", log.read_text()[-2_000:]
        return worker

    def _revive(self) -> None:
        """Start the worker again if it has lost its lease, as a service manager does."""
        if self.worker.poll() is not None:
            self._end(killed=False)
            self.worker = self._start()

    def _end(self, *, killed: bool) -> None:
        """Kill the worker with SIGKILL, or let it end by itself."""
        if killed:
            self.worker.kill()
        self.worker.communicate()

    async def _settle(self) -> list[Any]:
        """Wait until every run is over, or waits for a person, or for such a run."""
        async with asyncio.timeout(600):
            while True:
                self._revive()
                runs = await self.service.runs()
                states = {run.state for run in runs}
                if "running" not in states and ("queued" not in states or "waiting" in states):
                    return list(runs)
                await asyncio.sleep(0.05)

    async def _store(self, step: Any) -> None:
        """Change the session as somebody else would, once the lease of the latest run has ended."""
        async with asyncio.timeout(600):
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
            self._revive()
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
            self.removed[secret] = len(self.told.lines)
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
        self._end(killed=False)
        self.worker = self._start()
        self.loop.run(self._settle())

    @rule(moment=st.sampled_from(["submitted", "told", "used"]), asks=st.booleans())
    def kill(self, *, moment: str, asks: bool) -> None:
        """Kill the worker while the model or the tool of a new run is at work."""
        self.secrets.append(f"sk/{len(self.secrets):04}+live")
        record = self.used if moment == "used" else self.told
        before = len(record.lines)

        async def begin() -> None:
            text = f"{'ask' if asks else 'say'} {self.secrets[-1]}"
            self.runs.append(await self.service.submit("a", text))
            while moment != "submitted" and len(record.lines) == before:
                self._revive()
                run = await self.service.find(self.runs[-1])
                for question in await self.service.questions(run.id) if moment == "used" else ():
                    self.approved += 1
                    await self.service.approve(run.id, question["call_id"], allowed=True)
                runs = await self.service.runs()
                blocked = any(each.state == "waiting" and each.id != run.id for each in runs)
                if run.state in OVER or blocked or (moment == "told" and run.state == "waiting"):
                    break
                await asyncio.sleep(0.005)

        self.loop.run(begin())
        self._end(killed=True)
        self.worker = self._start()
        self.loop.run(self._settle())

    def teardown(self) -> None:
        """Let all runs end, and look at what they have done."""
        try:
            self.loop.run(self._check())
        finally:
            self._end(killed=True)
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
        used = self.used.lines
        assert len(used) == len(set(used)) <= self.approved
        files = self._read_files()
        for secret, count in self.removed.items():
            assert not any(secret in text for text in self.told.lines[count:])
            assert secret.encode() not in files

    def _read_files(self) -> bytes:
        return b"".join(path.read_bytes() for path in Path(self.folder.name).glob("*.db*"))


@pytest.mark.long
def test_any_sequence_keeps_the_promises() -> None:
    """No secret comes back, no call is made twice or unasked, and every run ends for a reason."""
    from hypothesis.stateful import run_state_machine_as_test  # noqa: PLC0415

    slow = settings(
        max_examples=8,
        stateful_step_count=12,
        deadline=None,
        phases=[Phase.generate],  # each example takes seconds, so none is made smaller
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(DurableSession, settings=slow)
