"""The page of `agentic serve` in a browser: a run that is live, on a phone, and in the dark."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import attrs
import pytest
import uvicorn

from agentic.app.serve._login import Login
from agentic.app.serve._runs_api import make_app
from agentic.durable.dbos import RunInfo
from tests.app.serve.test_runs_page import HOSTILE, FakeService, _run

pytestmark = pytest.mark.slow


@attrs.define
class LiveService(FakeService):
    """A service whose run goes on while somebody looks."""

    loop: asyncio.AbstractEventLoop | None = None
    queue: "asyncio.Queue[dict[str, Any]]" = attrs.field(factory=asyncio.Queue)
    state: str = "running"
    reader: threading.Event = attrs.field(factory=threading.Event)
    """Set once a page follows the events."""

    async def runs(self, *, limit: int = 100) -> list[RunInfo]:
        """Return the one run."""
        return [_run("r1", self.state)]

    async def questions(self, run_id: str) -> list[dict[str, Any]]:
        """Return what the run asks while it waits."""
        return await super().questions(run_id) if self.state == "waiting" else []

    async def events(
        self, _: str, *, after: int = 0, follow: bool = True
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield what happens from now on, to whoever follows."""
        if follow:
            self.reader.set()
            while True:
                yield await self.queue.get()

    def tell(self, number: int, kind: str, **fields: Any) -> None:
        """Let something happen, from the thread of a test."""
        assert self.loop is not None
        event = {"id": number, "type": kind, **fields}
        self.loop.call_soon_threadsafe(self.queue.put_nowait, event)


@pytest.fixture
def live() -> Iterator[tuple[LiveService, str]]:
    """A server in a thread, with its address."""
    service, is_up, servers = LiveService(), threading.Event(), []

    async def serve() -> None:
        service.loop = asyncio.get_running_loop()
        app = make_app(service, Login(""))  # type: ignore[arg-type]
        config = uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        servers.append(server)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        is_up.set()
        await server.main_loop()
        await server.shutdown()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert is_up.wait(60)
    (server,) = servers
    port = server.servers[0].sockets[0].getsockname()[1]
    yield service, f"http://127.0.0.1:{port}"
    server.should_exit = server.force_exit = True
    thread.join(60)


def test_a_run_is_live(browser: Any, live: tuple[LiveService, str]) -> None:
    """Pieces of a reply grow, a compaction and an epoch are seen, and a question loads the page."""
    service, address = live
    browser.visit(f"{address}/page/runs/r1")
    assert service.reader.wait(60)

    service.tell(1, "message_update", delta="It is ")
    service.tell(2, "message_update", delta=HOSTILE)
    browser.wait(f"document.querySelector('#events').textContent.includes({'It is ' + HOSTILE!r})")
    assert browser.evaluate("document.querySelectorAll('#events script').length") == 0
    service.tell(3, "context_compaction_end", reason="window", tokens_before=900, dropped=12)
    service.tell(4, "epoch_start", changes=["compaction"], reused_tokens=200, tokens=500)
    browser.wait("document.querySelector('#events .epoch_start')")
    compaction = browser.evaluate("document.querySelector('.context_compaction_end').textContent")
    assert "tokens_before: 900" in compaction

    service.state = "waiting"
    service.tell(5, "approval_request", call_id="c1", name="bash")
    browser.wait("document.querySelector('.question')")
    text = browser.evaluate("document.querySelector('.question').textContent")
    assert "May bash run?" in text
    assert [each for each in browser.complaints if f"asked for {address}/" not in each] == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_of_a_page(
    browser: Any, live: tuple[LiveService, str], *, dark: bool
) -> None:
    """Nothing is wider than 400 px, and the dark page is dark."""
    service, address = live
    service.state = "waiting"
    for path in ("/", "/page/runs/r1"):
        browser.visit(f"{address}{path}", width=400, dark=dark)

        assert browser.evaluate("document.documentElement.scrollWidth") <= 400
        colour = browser.evaluate("getComputedStyle(document.body).backgroundColor")
        red = int(colour.removeprefix("rgb(").split(",")[0])
        assert (red < 64) is dark
