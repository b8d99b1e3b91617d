"""The page of `agentic serve`: the runs, what fills their context, and what one may do.

It is rendered here by Jinja2, which escapes whatever comes from a conversation. A content-security
policy allows only our own script and style. Forms hold a CSRF token. Without its script, the page
lacks nothing but live updates.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

import attrs
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from agentic.app.serve._login import Login, find_cookie
from agentic.context.view._picture import measure_parts
from agentic.durable.dbos import RunNotFound
from agentic.errors import AgenticError, ConfigError
from agentic.history import Archive
from agentic.tokens import EstimateCounter
from agentic.tokens._count import TokenCache
from agentic.usage import Usage

if TYPE_CHECKING:
    from agentic.durable.dbos import RunInfo, Service

_FOLDER = Path(__file__).with_name("page")
_ENDED = {"done", "failed", "cancelled"}
_MOST_BYTES = 4 * 2**20
"""Of a form. A message of a million tokens fits."""
_MOST_CHARS = 2_000
"""Of an event."""
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""Of every answer of the page."""
_environment = Environment(
    loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined
)


@attrs.frozen(eq=False)
class Page:
    """The pages about a service, for whoever has logged in."""

    service: "Service"
    login: Login
    price: Callable[[Usage], str] = lambda _: ""
    """Returns what a usage cost; "" if no price is known."""

    def routes(self) -> list[Route]:
        """Return what the page serves."""
        files = {"style.css": "text/css", "live.js": "text/javascript"}
        return [
            Route("/", self.list_runs),
            Route("/login", self.ask_token),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            *(Route(f"/page/{name}", _file(name, kind)) for name, kind in files.items()),
            Route("/page/submit", self.submit, methods=["POST"]),
            Route("/page/runs/{run_id}", self.show_run),
            Route("/page/runs/{run_id}/{action}", self.act, methods=["POST"]),
        ]

    async def list_runs(self, request: Request) -> Response:
        """Show the latest runs, or those that a search finds."""
        query = request.query_params.get("q", "").strip()
        runs = [run for run in await self.service.runs() if _matches(run, query)]
        rows = [{"run": run, **await self._cost(run)} for run in runs]
        return self._render(request, "runs.html", title="Runs", rows=rows, query=query)

    async def show_run(self, request: Request, problem: str = "") -> Response:
        """Show one run, and what may be done about it."""
        run_id = request.path_params["run_id"]
        try:
            run = await self.service.find(run_id)
        except RunNotFound as missing:
            problem = str(missing)
            return self._render(request, "base.html", 404, title="No such run", problem=problem)
        events = [event async for event in self.service.events(run_id, follow=False)]
        is_open = run.state not in _ENDED
        outcome = None if is_open else await self.service.result(run_id)
        return self._render(
            request,
            "run.html",
            400 if problem else 200,
            title=run.session_id,
            problem=problem or (outcome.problem if outcome else ""),
            run=run,
            is_open=is_open,
            questions=await self.service.questions(run_id),
            context=await self._context(run.session_id),
            events=[{"type": each["type"], "text": text} for each, text in _told(events)],
            after=max((each["id"] for each in events), default=0),
            events_url=f"/runs/{quote(run_id, safe='')}/events",
            reply=outcome.reply if outcome else "",
            **await self._cost(run),
        )

    async def submit(self, request: Request) -> Response:
        """Queue a message."""
        form = await self._form(request)
        if form is None:
            return self._refused(request)
        try:
            run_id = await self.service.submit(form.get("session_id", ""), form.get("message", ""))
        except AgenticError as problem:
            return self._render(
                request, "base.html", 400, title="Not submitted", problem=str(problem)
            )
        return _see(f"/page/runs/{quote(run_id, safe='')}")

    async def act(self, request: Request) -> Response:
        """Approve, refuse, steer or cancel."""
        form = await self._form(request)
        if form is None:
            return self._refused(request)
        run_id, action = request.path_params["run_id"], request.path_params["action"]
        try:
            if action == "approve":
                may_run = form.get("allowed") == "yes"
                call_id, reason = form.get("call_id", ""), form.get("reason", "")
                await self.service.approve(run_id, call_id, may_run, reason)
            elif action == "steer":
                await self.service.steer(run_id, form.get("message", ""))
            elif action == "cancel":
                await self.service.cancel(run_id)
            else:
                return self._render(request, "base.html", 404, title="Not found", problem="")
        except ConfigError as problem:
            return await self.show_run(request, str(problem))
        except RunNotFound as problem:
            return self._render(request, "base.html", 404, title="No run", problem=str(problem))
        return _see(f"/page/runs/{quote(run_id, safe='')}")

    async def ask_token(self, request: Request, problem: str = "") -> Response:
        """Show the login."""
        status = 403 if problem else 200
        return self._render(request, "login.html", status, title="Log in", problem=problem)

    async def log_in(self, request: Request) -> Response:
        """Set the cookie of whoever knows the token."""
        form = _read_form(await _body(request))
        if not self.login.accepts(form.get("token", "")):
            return await self.ask_token(request, "This is not the token of this server.")
        answer = _see("/")
        self._set(answer, request, self.login.cookie())
        return answer

    async def log_out(self, request: Request) -> Response:
        """End the login of this browser."""
        if await self._form(request) is None:
            return self._refused(request)
        answer = _see("/login")
        self._set(answer, request, "")
        return answer

    async def _form(self, request: Request) -> dict[str, str] | None:
        """Return the fields of a form; None if it did not come from a page of this login."""
        form = _read_form(await _body(request))
        cookie = find_cookie(request.headers.get("cookie", ""))
        is_ours = self.login.holds(cookie) and self.login.is_csrf(cookie, form.get("csrf", ""))
        return form if is_ours else None

    def _refused(self, request: Request) -> Response:
        problem = "This form is too old: load its page again."
        return self._render(request, "base.html", 403, title="Refused", problem=problem)

    def _render(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        cookie = find_cookie(request.headers.get("cookie", ""))
        is_new = not self.login.holds(cookie) and not self.login.token
        if is_new:
            cookie = self.login.cookie()
        common = {"problem": "", "csrf": self.login.csrf(cookie), "can_leave": self._is_in(cookie)}
        text = _environment.get_template(name).render({**common, **values})
        # Half of a surrogate pair, as models write them, has no bytes.
        body = text.encode(errors="replace")
        answer = Response(body, status, HEADERS, "text/html; charset=utf-8")
        if is_new:
            self._set(answer, request, cookie)
        return answer

    def _is_in(self, cookie: str) -> bool:
        return bool(self.login.token) and self.login.holds(cookie)

    def _set(self, answer: Response, request: Request, cookie: str) -> None:
        header = self.login.header(cookie, secure=request.url.scheme == "https")
        answer.headers.append("set-cookie", header)

    async def _cost(self, run: "RunInfo") -> dict[str, str]:
        if run.state not in _ENDED:
            return {"tokens": "", "cost": ""}
        usage = (await self.service.result(run.id)).usage
        tokens = f"{usage.input:,}, {usage.output:,}" if usage.input or usage.output else ""
        return {"tokens": tokens, "cost": self.price(usage)}

    async def _context(self, session_id: str) -> dict[str, Any]:
        """Return what the history holds by kind, and what it no longer holds."""
        store = self.service.sessions.open(session_id)
        history = await store.load()
        cache = TokenCache(EstimateCounter())
        parts = measure_parts(history, cache, system=0, tools=0, window=0)
        total, start = max(1, sum(part.tokens for part in parts)), 0.0
        bars = []
        for part in parts:
            width = 1000 * part.tokens / total
            place = {"left": f"{start:.1f}", "width": f"{width:.1f}"}
            bars.append({"kind": part.kind, "tokens": part.tokens, **place})
            start += width
        missing = 0
        if isinstance(store, Archive):
            everything = await store.full()
            missing = len(everything) - sum(1 for message in history if message.summary is None)
        noun = "message is" if missing == 1 else "messages are"
        left_out = (
            f"{missing:,} earlier {noun} left out; the session keeps them." if missing > 0 else ""
        )
        text = ", ".join(f"{part.kind} {part.tokens:,} tokens" for part in parts)
        return {"parts": bars, "text": text, "left_out": left_out or "Nothing is left out."}


def _matches(run: "RunInfo", query: str) -> bool:
    words = f"{run.id} {run.session_id} {run.state}".lower()
    return all(word in words for word in query.lower().split())


def _told(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield each event with its fields as a text, without the pieces of replies."""
    for event in events:
        if event["type"] not in {"message_update", "run_end"}:
            fields = {key: value for key, value in event.items() if key not in {"id", "type"}}
            texts = (
                f"{key}: {value if isinstance(value, str) else json.dumps(value)}"
                for key, value in fields.items()
            )
            yield event, "  ".join(texts)[:_MOST_CHARS]


def _file(name: str, kind: str) -> Callable[[Request], Any]:
    async def send(_: Request) -> Response:
        return FileResponse(_FOLDER / name, headers=HEADERS, media_type=kind)

    return send


async def _body(request: Request) -> bytes:
    raw = bytearray()
    # Counted as it arrives: a stated length may be missing or wrong.
    async for piece in request.stream():
        raw += piece
        if len(raw) > _MOST_BYTES:
            raise ConfigError("the body", f"{len(raw)} bytes", f"{_MOST_BYTES} bytes at most")
    return bytes(raw)


def _read_form(raw: bytes) -> dict[str, str]:
    """Return the fields of a form.

    >>> _read_form(b"message=It+is+red%21&csrf=")
    {'message': 'It is red!', 'csrf': ''}
    """
    fields = parse_qs(raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20)
    return {name: values[-1] for name, values in fields.items()}


def _see(place: str) -> Response:
    # 303, so that loading the page again does not send the form again.
    return RedirectResponse(place, 303, HEADERS)
