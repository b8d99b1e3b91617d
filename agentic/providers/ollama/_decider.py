"""A decider that calls a model through the native API of an Ollama server."""

import json
import os
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs

from agentic.errors import RequestFailed
from agentic.limits import ModelLimits, lookup
from agentic.loop import Decision, Input
from agentic.providers._model import ModelDecider
from agentic.providers.kit import Adapter, RequestForm, Sdk, at
from agentic.providers.kit._adapter import longest_reply, validator_in
from agentic.providers.kit._record import RecordRole, valid_record_role
from agentic.providers.ollama._messages import (
    NAME,
    IncrementalDecoder,
    decode,
    decode_request,
    encode,
    encode_request,
)
from agentic.providers.ollama._replies import (
    STOP_WORDS,
    StreamedResponse,
    decode_response,
    failure_in,
    stop_reason,
    usage,
)
from agentic.providers.overflow import is_context_overflow
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
        body = encode_request(
            request.history,
            system_prompt=request.system_prompt,
            tools=request.tools,
            model=self.model,
            strict_roles=self.strict_roles,
            record_role=self.record_role,
        )
        tools = [*body.pop("tools", ()), *(self.options.get("tools") or ())]
        options = self.options.get("options") or {}
        window = {} if self._limits is None else {"num_ctx": self._limits.context_window}
        # A window of 0 means that there is no limit, which is no `num_ctx`.
        runner = {**(window if window.get("num_ctx") else {}), **options}
        return {
            "model": self.model,
            # Both since 0.12.6; an older server does not know them
            # (https://github.com/ollama/ollama/pull/17944).
            "truncate": False,
            "shift": False,
            **{key: value for key, value in self.options.items() if key not in _OURS},
            **body,
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


_SECONDS, _CONNECT_SECONDS = 600.0, 5.0
"""The first is what the SDKs of OpenAI and Anthropic wait by default."""


def make_client(sdk: Any) -> Any:
    """Create a client for the server that Ollama's own programs would ask."""
    key = os.environ.get("OLLAMA_API_KEY", "")
    return sdk.AsyncClient(
        base_url=server_address(os.environ.get("OLLAMA_HOST", "")),
        headers={"Authorization": f"Bearer {key}"} if key else {},
        # A server may load a model before it answers; one that does not run is noticed soon.
        timeout=sdk.Timeout(_SECONDS, connect=_CONNECT_SECONDS),
    )


def server_address(host: str) -> str:
    """Return the address that a value of OLLAMA_HOST stands for.

    https://docs.ollama.com/faq, `_parse_host` of ollama-python 0.6, and `Host` in
    https://github.com/ollama/ollama/blob/main/envconfig/config.go (2026-11).

    >>> server_address(""), server_address("gpu.local"), server_address("https://ollama.com")
    ('http://127.0.0.1:11434', 'http://gpu.local:11434', 'https://ollama.com:443')
    >>> server_address("[::1]:8080/a/"), server_address("0.0.0.0"), server_address("'::'")
    ('http://[::1]:8080/a', 'http://127.0.0.1:11434', 'http://[::1]:11434')
    """
    # Where `set` on Windows or a file for Docker keeps the quotes, Ollama takes them off, too.
    scheme, _, rest = host.strip(" \t\"'").rpartition("://")
    place, _, path = rest.partition("/")
    place = place.rpartition("@")[2]
    # Ollama accepts an IPv6 address without the brackets that a URL needs.
    bare = place.count(":") > 1 and not place.startswith("[")
    address = urllib.parse.urlsplit(f"//[{place}]" if bare else f"//{place}")
    # As Ollama's own clients do: a bare host means Ollama's port, a scheme means its own.
    port = address.port or {"http": 80, "https": 443}.get(scheme, 11434)
    name = address.hostname or "127.0.0.1"
    # These are where a server listens, not where it is asked.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104  nothing is bound
    # `hostname` is without the brackets of an IPv6 address.
    name = f"[{name}]" if ":" in name else name
    return f"{scheme or 'http'}://{name}:{port}/{path}".rstrip("/")


ADAPTER = Adapter(
    name=NAME,
    stop_words=STOP_WORDS,
    decode=decode,
    decode_request=decode_request,
    decode_response=decode_response,
    usage=usage,
    stop_reason=stop_reason,
    streamed_response=StreamedResponse,
    list_decoder=IncrementalDecoder,
    encode=encode,
    encode_request=encode_request,
    validate=validator_in("agentic.providers.ollama._validation"),
    is_context_overflow=is_context_overflow,
    decider=Decider,
    form=RequestForm("messages", is_templated=True),
    sdk=Sdk(install="agentic-weave[ollama]", module="httpx", make=make_client),
    reply_tokens=lambda options, _: longest_reply(options, [("options", "num_predict")]),
)
