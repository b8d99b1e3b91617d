"""The page of `agentic serve`, without a browser: what it shows, who may use it, what it does."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import attrs
import httpx
import pytest

from agentic.app.cli._access import Guard
from agentic.app.serve._login import Login
from agentic.app.serve._runs_api import make_app
from agentic.durable.dbos import RunInfo, RunNotFound, RunOutcome
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.usage import Usage

HOSTILE = '<script>alert("x")</script>'
TOKEN = "s3cret"  # noqa: S105  of a server of these tests


@attrs.define
class FakeService:
    """A service with one run that waits for an answer, and one that is over."""

    store: MemoryStore = attrs.field(factory=MemoryStore)
    done: list[tuple[Any, ...]] = attrs.field(factory=list)
    """What was asked of it."""

    @property
    def sessions(self) -> Any:
        """One session."""
        return SimpleNamespace(open=lambda _: self.store)

    async def runs(self, *, limit: int = 100) -> list[RunInfo]:
        """Return both runs."""
        return [_run("r1", "waiting"), _run("r2", "done")]

    async def find(self, run_id: str) -> RunInfo:
        """Return one run."""
        for run in await self.runs():
            if run.id == run_id:
                return run
        raise RunNotFound(run_id)

    async def result(self, _: str) -> RunOutcome:
        """Return how a run ended."""
        return RunOutcome(state="done", reply=HOSTILE, usage=Usage(input=1_200, output=80))

    async def questions(self, run_id: str) -> list[dict[str, Any]]:
        """Return what the first run waits for."""
        question = {"call_id": "c1", "name": "bash", "arguments": f'{{"command": "{HOSTILE}"}}'}
        return [question] if run_id == "r1" else []

    async def events(
        self, _: str, *, after: int = 0, follow: bool = True
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield what has happened so far."""
        assert not follow
        yield {"id": 1, "type": "message_end", "role": "assistant", "content": HOSTILE}

    async def submit(self, session_id: str, message: str) -> str:
        """Note a message."""
        self.done.append(("submit", session_id, message))
        return "r1"

    async def approve(self, *answer: Any) -> None:
        """Note an answer."""
        self.done.append(("approve", *answer))

    async def steer(self, *words: Any) -> None:
        """Note some words."""
        self.done.append(("steer", *words))

    async def cancel(self, *run: Any) -> None:
        """Note a cancellation."""
        self.done.append(("cancel", *run))


def _run(run_id: str, state: str) -> RunInfo:
    when = datetime(2026, 11, 28, 4, 0, tzinfo=UTC)
    return RunInfo(id=run_id, session_id="monday", state=state, submitted_at=when, worker="w1")


class Visitor:
    """A browser without a script, at a server with a token or on loopback."""

    def __init__(self, token: str = TOKEN) -> None:
        self.service, login = FakeService(), Login(token)
        asyncio.run(self.service.store.append(Message("user", HOSTILE)))
        app = make_app(self.service, login)  # type: ignore[arg-type]
        self._guarded = Guard(app, loopback=not token, token=token, lets=login.lets)
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send one request, and keep the cookie that is set."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._guarded)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", cookies=self.cookies
            ) as client:
                return await client.request(method, path, **options)

        answer = asyncio.run(send())
        self.cookies |= dict(answer.cookies)
        return answer

    def log_in(self) -> "Visitor":
        """Log in by the form."""
        answer = self.ask("POST", "/login", data={"token": TOKEN})
        assert answer.status_code == 303
        return self

    def csrf(self, path: str = "/page/runs/r1") -> str:
        """Return the token of the forms of a page."""
        match = re.search(r'name="csrf" value="(\w+)"', self.ask("GET", path).text)
        assert match
        return match[1]


def test_nobody_gets_in_without_the_token() -> None:
    """The list leads to the login, and everything else is refused."""
    visitor = Visitor()

    assert visitor.ask("GET", "/").headers["location"] == "/login"
    assert visitor.ask("GET", "/page/runs/r1").status_code == 401
    assert visitor.ask("POST", "/login", data={"token": "guess"}).status_code == 403
    assert visitor.ask("GET", "/page/runs/r1").status_code == 401
    assert "token" in visitor.ask("GET", "/login").text


def test_login_is_a_strict_cookie_that_scripts_cannot_read() -> None:
    """It ends with the log-out."""
    visitor = Visitor()
    cookie = visitor.ask("POST", "/login", data={"token": TOKEN}).headers["set-cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert visitor.ask("GET", "/").status_code == 200
    gone = visitor.ask("POST", "/logout", data={"csrf": visitor.csrf()}).headers["set-cookie"]
    assert "Max-Age=0" in gone


def test_a_cookie_does_not_open_the_api() -> None:
    """Only the forms of the page change something, and those hold a CSRF token."""
    visitor = Visitor().log_in()

    assert visitor.ask("POST", "/runs/r1/cancel").status_code == 401
    assert visitor.ask("GET", "/runs").status_code == 200
    assert visitor.service.done == []


@pytest.mark.parametrize("csrf", ["", "0" * 64])
@pytest.mark.parametrize("action", ["approve", "steer", "cancel"])
def test_a_form_of_another_site_changes_nothing(action: str, csrf: str) -> None:
    """Whether the server has a token or is on loopback."""
    for visitor in (Visitor().log_in(), Visitor("")):
        visitor.ask("GET", "/")
        answer = visitor.ask("POST", f"/page/runs/r1/{action}", data={"csrf": csrf})

        assert answer.status_code == 403
        assert visitor.service.done == []


@pytest.mark.parametrize(
    ("path", "fields", "asked"),
    [
        (
            "/page/runs/r1/approve",
            {"call_id": "c1", "allowed": "no", "reason": "Too early."},
            ("approve", "r1", "c1", False, "Too early."),
        ),
        (
            "/page/runs/r1/approve",
            {"call_id": "c1", "allowed": "yes", "reason": ""},
            ("approve", "r1", "c1", True, ""),
        ),
        ("/page/runs/r1/steer", {"message": "Run the tests."}, ("steer", "r1", "Run the tests.")),
        ("/page/runs/r1/cancel", {}, ("cancel", "r1")),
        ("/page/submit", {"session_id": "s", "message": "Hi."}, ("submit", "s", "Hi.")),
    ],
)
def test_forms_do_what_they_say(path: str, fields: dict[str, str], asked: tuple[Any, ...]) -> None:
    """And lead back to the run."""
    visitor = Visitor().log_in()

    answer = visitor.ask("POST", path, data={**fields, "csrf": visitor.csrf()})

    assert answer.headers["location"] == "/page/runs/r1"
    assert visitor.service.done == [asked]


def test_nothing_of_a_conversation_is_html() -> None:
    """Replies, arguments and events are text, and the policy allows no script but ours."""
    visitor = Visitor("")
    for path in ("/page/runs/r1", "/page/runs/r2", f"/?q={HOSTILE}"):
        answer = visitor.ask("GET", path)

        assert answer.status_code == 200
        assert HOSTILE not in answer.text
        assert "&lt;script&gt;" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_list_shows_and_finds_runs() -> None:
    """By id, session or state; one that is over has its tokens."""
    visitor = Visitor("")

    everything = visitor.ask("GET", "/").text
    waiting = visitor.ask("GET", "/?q=monday+waiting").text

    assert "/page/runs/r1" in everything
    assert "1,200, 80" in everything
    assert "/page/runs/r1" in waiting
    assert "/page/runs/r2" not in waiting
    assert "No run matches." in visitor.ask("GET", "/?q=tuesday").text


def test_a_run_shows_its_context_and_questions() -> None:
    """The context is a picture with a text for those who do not see it."""
    page = Visitor("").ask("GET", "/page/runs/r1").text

    assert "May <code>bash</code> run?" in page
    assert re.search(r'aria-label="requests \d+ tokens"', page)
    assert '<rect class="requests"' in page
    assert 'src="/page/live.js"' in page


def test_unknown_places_say_so() -> None:
    """In a page, not in JSON."""
    visitor = Visitor("")

    assert "no such run: r9" in visitor.ask("GET", "/page/runs/r9").text
    assert visitor.ask("GET", "/page/style.css").headers["content-type"].startswith("text/css")
    assert visitor.ask("GET", "/page/live.js").status_code == 200
