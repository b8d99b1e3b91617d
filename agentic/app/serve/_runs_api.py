"""The runs of an agent over HTTP: submit, watch, steer, approve, cancel.

Bodies are JSON. An error is `{"error": "a sentence"}`. The API has no accounts: whoever gets
past the guard of its address (`_access`) may do everything.
"""

import json
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agentic.app.cli._options import whole_number
from agentic.app.cli._place import describe_run
from agentic.app.serve._login import Login
from agentic.app.serve._page import Page
from agentic.durable.dbos import RunNotFound
from agentic.errors import ConfigError, HistoryUnavailable
from agentic.usage import Usage, cost
from agentic.usage._usage import WITHOUT_SUMMED

if TYPE_CHECKING:
    from agentic.durable.dbos import Service

_log = logging.getLogger(__name__)
_ENDED = {"done", "failed", "cancelled"}
_MOST_BYTES = 4 * 2**20
"""Of a body. A message of a million tokens fits."""
_SHOWN = 80


def make_app(service: "Service", login: Login | None = None, model: str = "") -> Starlette:
    """Return the ASGI application for a connected service: its API, and its page.

    Args:
        service: has the runs.
        login: checks who may use the page; by default, everybody may.
        model: the model's name, for the price of a run.
    """
    api, page = _Api(service), Page(service, login or Login(""), partial(_price, model))
    routes = [
        *page.routes(),
        Route("/sessions/{session_id}/runs", api.submit, methods=["POST"]),
        Route("/runs", api.list_runs),
        Route("/runs/{run_id}", api.show),
        Route("/runs/{run_id}/events", api.watch),
        Route("/runs/{run_id}/cancel", api.cancel, methods=["POST"]),
        Route("/runs/{run_id}/steer", api.steer, methods=["POST"]),
        # A provider's id may have a slash in it, or what no address can hold.
        Route("/runs/{run_id}/approvals/{call_id:path}", api.approve, methods=["POST"]),
        Route("/runs/{run_id}/approvals", api.approve, methods=["POST"]),
    ]
    handlers: Any = {
        ConfigError: _refuse(400),
        RunNotFound: _refuse(404),
        HistoryUnavailable: _refuse(503),
        HTTPException: _not_served,
        Exception: _failed,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


@attrs.frozen(eq=False)
class _Api:
    service: "Service"

    async def submit(self, request: Request) -> Response:
        body = await _read(request)
        key = _text(body, "key", "")
        session_id = request.path_params["session_id"]
        run_id = await self.service.submit(session_id, _text(body, "message"), key=key)
        place = {"location": f"/runs/{run_id}"}
        return _json({"run_id": run_id}, 202, place)

    async def list_runs(self, _: Request) -> Response:
        return _json([describe_run(run) for run in await self.service.runs()])

    async def show(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        run = await self.service.find(run_id)
        plain = describe_run(run)
        if run.state in _ENDED:
            plain["outcome"] = attrs.asdict(
                await self.service.result(run_id), filter=WITHOUT_SUMMED
            )
        else:
            plain["questions"] = await self.service.questions(run_id)
        return _json(plain)

    async def watch(self, request: Request) -> Response:
        run_id = request.path_params["run_id"]
        # What a browser's EventSource sends when it connects again.
        value = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        if (after := whole_number(value)) is None:
            raise ConfigError("after", value[:_SHOWN], "the id of an event")
        await self.service.find(run_id)  # before the answer has begun
        headers = {"cache-control": "no-store"}
        events = self._events(run_id, after)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)

    async def cancel(self, request: Request) -> Response:
        await self.service.cancel(request.path_params["run_id"])
        return _done()

    async def steer(self, request: Request) -> Response:
        message = _text(await _read(request), "message")
        await self.service.steer(request.path_params["run_id"], message)
        return _done()

    async def approve(self, request: Request) -> Response:
        body = await _read(request)
        if not isinstance(may_run := body.get("allowed"), bool):
            raise ConfigError("allowed", may_run, "true or false")
        run_id = request.path_params["run_id"]
        call_id = request.path_params.get("call_id") or _text(body, "call_id")
        run, questions = await self.service.find(run_id), await self.service.questions(run_id)
        waits = call_id in {question["call_id"] for question in questions}
        if not waits and run.state not in _ENDED:
            raise ConfigError("call_id", call_id, "a call that waits for approval")
        await self.service.approve(run_id, call_id, may_run, _text(body, "reason", ""))
        return _done()

    async def _events(self, run_id: str, after: int) -> AsyncIterator[str]:
        async for event in self.service.events(run_id, after=after):
            yield f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _price(model: str, usage: Usage) -> str:
    """Return the price of a run's requests; "" if the price list or the model is missing."""
    try:
        price = cost(usage, model.partition(":")[2]) if ":" in model else None
    except ImportError:
        return ""
    return "" if price is None else f"${price.total:.4f}"


async def _read(request: Request) -> dict[str, Any]:
    raw = bytearray()
    # Counted as it arrives: a stated length may be missing or wrong.
    async for piece in request.stream():
        raw += piece
        if len(raw) > _MOST_BYTES:
            raise ConfigError("the body", f"{len(raw)} bytes", f"{_MOST_BYTES} bytes at most")
    try:
        # Whatever the content type: `curl -d` says that it is a form.
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ConfigError("the body", bytes(raw[:_SHOWN]).decode(errors="replace"), "a JSON object")
    return body


def _text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ConfigError(name, value, "a text")
    return value


def _done() -> Response:
    return Response(status_code=204)


def _json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # Not Starlette's JSONResponse, which fails on half of a surrogate pair, as models write them.
    return Response(json.dumps(data), status, headers, "application/json")


def _refuse(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _, problem: _json({"error": str(problem)}, status)


def _not_served(request: Request, problem: Exception) -> Response:
    status = getattr(problem, "status_code", 404)
    sentence = f"{request.method} {request.url.path} is not served"
    return _json({"error": sentence}, status)


def _failed(request: Request, problem: Exception) -> Response:
    sentence = f"{type(problem).__name__}: {problem}"
    _log.error("%s %s failed: %s", request.method, request.url.path, sentence)
    return _json({"error": sentence}, 500)
