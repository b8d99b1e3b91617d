"""What a turn costs by the engine alone, by `agentic.durable`, by the service, and without them.

Each way runs the same turns in one process, in rounds, each way in turn. A turn lasts from one
decision to the next: a decision, and tool calls side by side, each a step.
"""

import asyncio
import itertools
import statistics
import time
import uuid
from datetime import UTC, datetime
from typing import Any

import attrs
from dbos import DBOS, DBOSClient

from agentic.durable import Durable
from agentic.durable.dbos import DbosSteps, Service
from agentic.durable.dbos._worker import VERSION, Json
from benchmarks.durable._agent import OUTPUT, REPLY, Model, make_runner, open_sessions
from benchmarks.durable._fleet import Place

QUEUE = "agentic"


@attrs.frozen
class Cost:
    """A turn's cost, in milliseconds."""

    wall: float
    processor: float
    """Of all threads of this process; the database's is not included."""


@attrs.define(eq=False)
class Ways:
    """The ways of one database, with a worker that serves them."""

    url: str
    store: str
    turns: int
    calls: int
    retry: str = "always"
    client: Any = None
    service: Any = None
    durable_model: Any = None
    bare_times: list[float] = attrs.field(factory=list)

    async def bare(self) -> Cost:
        """Measure steps of the engine, as many as a durable run has, with as large records."""
        begun = time.process_time()
        await self._workflow("bare")
        return self._cost(self.bare_times, begun)

    async def wrapped(self) -> Cost:
        """Measure a Runner with recorded steps, without sessions, events and messages."""
        begun = time.process_time()
        await self._workflow("wrapped")
        return self._cost(self.durable_model.asked, begun)

    async def served(self) -> Cost:
        """Measure a run of the service."""
        begun = time.process_time()
        run = await self.service.submit(uuid.uuid4().hex, "Read them.")
        await self.service.result(run)
        return self._cost(self.durable_model.asked, begun)

    async def plain(self) -> Cost:
        """Measure the same loop without durability, on the same kind of store."""
        begun, model = time.process_time(), Model(self.turns, self.calls)
        async with open_sessions(self.store).open(uuid.uuid4().hex) as store:  # type: ignore[attr-defined]
            await attrs.evolve(make_runner(model), store=store).run("Read them.")
        return self._cost(model.asked, begun)

    def make_runner(self, _: str = "") -> Any:
        """Return the agent of a durable run."""
        self.durable_model = Model(self.turns, self.calls)
        return make_runner(self.durable_model, retry=self.retry)

    def register(self) -> None:
        """Register the two workflows that are not of the service."""
        DBOS.workflow(name="bare", max_recovery_attempts=None)(self._make_bare())
        DBOS.workflow(name="wrapped", max_recovery_attempts=None)(self._make_wrapped())

    async def _workflow(self, name: str) -> None:
        workflow_id = uuid.uuid4().hex
        handle = await self.client.enqueue_async(
            {
                "workflow_name": name,
                "queue_name": QUEUE,
                "workflow_id": workflow_id,
                "queue_partition_key": workflow_id,
                "app_version": VERSION,
            }
        )
        await handle.get_result(polling_interval_sec=0.1)

    def _make_bare(self) -> Any:
        async def bare() -> dict[str, Any]:
            self.bare_times = []
            for _ in range(self.turns):
                self.bare_times.append(time.perf_counter())
                await DBOS.run_step_async({"name": "decide"}, _record, REPLY)
                await asyncio.gather(*(self._call() for _ in range(self.calls)))
            return {}

        return bare

    async def _call(self) -> None:
        if self.retry == "never":
            await DBOS.run_step_async({"name": "intend"}, _record, "x" * 32)
        await DBOS.run_step_async({"name": "tool"}, _record, OUTPUT)

    def _make_wrapped(self) -> Any:
        async def wrapped() -> dict[str, Any]:
            steps = DbosSteps(client=self.client)
            durable = Durable(steps, datetime.now(UTC), peek=steps.peek)
            runner = self.make_runner()
            runner = attrs.evolve(
                runner,
                decider=durable.decider(runner.decider),
                executor=durable.executor(runner.executor),
                tool_timeout_seconds=None,
            )
            with durable.clock():
                await runner.run("Read them.", run_id=str(DBOS.workflow_id))
            return {}

        return wrapped

    def _cost(self, asked: list[float], begun: float) -> Cost:
        turns = [after - before for before, after in itertools.pairwise(asked)]
        used = (time.process_time() - begun) / self.turns
        return Cost(1000 * statistics.median(turns), 1000 * used)


async def _record(text: str) -> dict[str, Any]:
    # As large as a record of ours with the same text.
    return {"v": 1, "ended": datetime.now(UTC).isoformat(), "text": text, "more": "x" * 100}


async def measure_steps(place: Place, rounds: int, retry: str = "always") -> dict[str, list[Cost]]:
    """Return the costs of each way, one for each round."""
    ways = Ways(place.url, place.store, place.turns, place.calls, retry)
    sessions = open_sessions(place.store)
    service = Service(ways.make_runner, sessions=sessions, database_url=place.url, name=QUEUE)
    ways.register()
    costs: dict[str, list[Cost]] = {"bare": [], "wrapped": [], "served": [], "plain": []}
    async with service, service.worker():
        ways.service = service
        ways.client = DBOSClient(
            system_database_url=service.database_url, serializer=Json(), application_name=QUEUE
        )
        try:
            for number in range(rounds + 1):
                for name, found in costs.items():
                    cost = await getattr(ways, name)()
                    if number:  # the first round warms up
                        found.append(cost)
        finally:
            ways.client.destroy()
    return costs
