"""A decider that calls a model through the native API of an Ollama server."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._model import ModelDecider
from agentic.providers.kit import at
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.ollama._messages import NAME, encode_request
from agentic.providers.ollama._replies import StreamedResponse, decode_response, failure_in
from agentic.tokens import approx_token_counter, count_tokens

if TYPE_CHECKING:
    import httpx

_PATH = "/api/chat"
_OURS = {"model", "messages", "tools", "stream", "options"}
"""Fields of the request that the options do not replace."""
_OK = 200
_UNKNOWN = lookup("")


@attrs.frozen
class Decider(ModelDecider):
    """Calls one model with `POST /api/chat`.

    The client is one for HTTP, because the `ollama` package drops what its types do not name: the
    ids of calls (https://github.com/ollama/ollama-python/issues/667) and most of a tool's schema.
    """

    _provider = NAME
    _stream_type = StreamedResponse
    client: "httpx.AsyncClient" = attrs.field(repr=False)
    """An `httpx.AsyncClient` whose `base_url` is the server's. It supplies headers and timeouts: a
    server may take minutes to load a model."""
    model: str
    options: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)
    """Additional fields of the request: `think`, `format`, `keep_alive`, and `options`, which is
    the wire's name for num_ctx, temperature and the like. `tools` are added after those of the
    request. A request that exceeds the window is refused by default: the server would cut it
    silently, unless `truncate` is true."""
    strict_roles: bool | None = attrs.field(default=None, kw_only=True)
    """Whether the model's template accepts only one system message, at the start, and roles that
    alternate. By default it is known by the model's name (Qwen, Mistral, Gemma, GLM, MiniMax)."""
    record_role: RecordRole = attrs.field(default="user", kw_only=True, validator=valid_record_role)
    """The role in which a summary of earlier messages is sent: `user`, or `system`."""
    _limits: ModelLimits | None = attrs.field(default=None, kw_only=True)
    """The window of these limits is also requested from the server, as `num_ctx`."""

    def limits(self) -> ModelLimits:
        """Return the model's limits in tokens: those passed in, else what `num_ctx` requests.

        Without either, the window is unknown: it depends on the server's memory and settings, not
        on the model (https://docs.ollama.com/context-length, 2026-11).
        """
        if self._limits is not None:
            return self._limits
        window = at(self.options, "options", "num_ctx")
        return ModelLimits(window, 0) if isinstance(window, int) and window > 0 else _UNKNOWN

    async def _whole(self, request: Input) -> Any:
        answer = await self.client.post(_PATH, json=self._body(request, stream=False))
        return self._checked(answer.status_code, answer.content)

    async def _open(self, request: Input) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        return self._opened(self._body(request, stream=True))

    @asynccontextmanager
    async def _opened(self, body: dict[str, Any]) -> AsyncIterator[AsyncIterator[bytes]]:
        async with self.client.stream("POST", _PATH, json=body) as answer:
            if answer.status_code != _OK:
                # httpx does not read the body of a streamed response by itself.
                self._checked(answer.status_code, await answer.aread())
            yield _lines(answer.aiter_bytes())

    async def list_models(self) -> list[str]:
        """Return the names of the models that the server has.

        https://docs.ollama.com/api/tags

        Raises:
            Exception: what httpx raises, or the answer is no list of models.
        """
        answer = await self.client.get("/api/tags")
        return [str(model["name"]) for model in answer.json()["models"]]

    def _body(self, request: Input, *, stream: bool) -> dict[str, Any]:
        said = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            strict_roles=self.strict_roles,
            record_role=self.record_role,
        )
        tools = [*said.pop("tools", ()), *(self.options.get("tools") or ())]
        given = self.options.get("options") or {}
        window = {} if self._limits is None else {"num_ctx": self._limits.context_window}
        # A window of 0 means that there is no limit, which is no `num_ctx`.
        runner = {**(window if window.get("num_ctx") else {}), **given}
        return {
            "model": self.model,
            # Both since 0.12.6; an older server does not know them
            # (https://github.com/ollama/ollama/pull/17944).
            "truncate": False,
            "shift": False,
            **{key: value for key, value in self.options.items() if key not in _OURS},
            **said,
            **({"tools": tools} if tools else {}),
            **({"options": runner} if runner else {}),
            "stream": stream,
        }

    def _checked(self, status: int, content: bytes) -> Any:
        """Return the JSON of an answer.

        Raises:
            ContextOverflow: the request does not fit the model's window.
            RequestFailed: the server reports another error, or something else answered.
        """
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        failure = failure_in(body, status if status != _OK else None, self.model)
        if failure is not None:
            raise failure
        if status != _OK or not isinstance(at(body, "message"), dict):
            problem = f"the answer is not a reply: {content[:200]!r}"
            raise RequestFailed(NAME, status if status != _OK else None, problem)
        return body

    def _decision(self, body: Any, request: Input) -> Decision:
        decision = decode_response(body)

        def estimate() -> int:
            return count_tokens(request.history) + approx_token_counter(request.system_prompt)

        # A server that does not know `truncate` cuts the prompt all the same.
        self._raise_if_cut(decision, estimate)
        return attrs.evolve(decision, request_model=self.model)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. A line ends at a line feed alone: a text may hold other breaks.

    httpx's own `aiter_lines` also splits at characters such as U+0085, which JSON need not escape.
    """
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
    yield rest
