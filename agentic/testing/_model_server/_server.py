"""The model server: it reads requests, judges and bills them, and answers by a script."""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal

import attrs

from agentic.errors import ConfigError
from agentic.testing._model_server import _reasoning
from agentic.testing._model_server._anthropic import ANTHROPIC
from agentic.testing._model_server._cache import BlockCache, CacheBill, TokenPrices
from agentic.testing._model_server._chat import OPENAI_CHAT
from agentic.testing._model_server._converse import BEDROCK
from agentic.testing._model_server._gemini import GEMINI
from agentic.testing._model_server._ledger import ServedRequest, ServerReport
from agentic.testing._model_server._reasoning import Compacted, Made, Verdict
from agentic.testing._model_server._request import (
    Block,
    ModelReply,
    ReadRequest,
    Refusal,
    ReplyCall,
    ScriptedAnswer,
    size_of,
)
from agentic.testing._model_server._responses import OPENAI_RESPONSES
from agentic.testing._model_server._script import AgentScript, Script
from agentic.testing._model_server._structure import check_structure, find_lost
from agentic.testing._model_server._wire import ModelWire

__all__ = ["ModelServer", "ServerReply"]

_WIRES = (ANTHROPIC, OPENAI_RESPONSES, OPENAI_CHAT, BEDROCK, GEMINI)
_SUMMARY = ScriptedAnswer(text="What was done so far: files were read, nothing is open.")
_SERVED = 200
_CALL_TOKENS = 8
"""What a call counts besides its arguments."""
_COUNTED = {"binding", "loop"}
"""Refusals that a server may count, and answer all the same."""


@attrs.frozen
class ServerReply:
    """What a server answers a request with."""

    status: int
    body: dict[str, Any]
    events: tuple[tuple[str, Any], ...] = ()
    """The events of the stream, if the request asked for one."""

    def sse(self) -> bytes:
        """Return the stream as bytes of `text/event-stream`."""
        return b"".join(_sse(name, data) for name, data in self.events)


def _sse(name: str, data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {text}\n\n".encode()


def _noon() -> float:
    return 0.0


def _summarize(_: Mapping[str, Any], /) -> ScriptedAnswer:
    return _SUMMARY


def _never(_: Mapping[str, Any], /) -> bool:
    return False


@attrs.frozen
class _SentRequest:
    """What the last request of the conversation had, to see whether the next one extends it."""

    hashes: tuple[str, ...]
    head: str
    """The hash behind the tools, which are in front."""
    usable: tuple[Made, ...]
    """The reasoning that the next request can still use."""


@attrs.define(kw_only=True)
class ModelServer:
    """A fake of a provider's model server, which binds reasoning and bills its prompt cache.

    It refuses what the provider documents that it refuses: reasoning behind a changed request,
    calls without results, wrong roles, empty content, a request larger than the window. It serves
    one conversation; requests for which `aside` is true are answered with a summary and are no
    part of it. In process by `post`, over HTTP by `serve`.

    >>> server = ModelServer(script=AgentScript(turns=1, rounds=0))
    >>> body = {"model": "claude-fable-5-2", "max_tokens": 100}
    >>> body["messages"] = [{"role": "user", "content": "hello"}]
    >>> reply = server.post("/v1/messages", body)
    >>> reply.status, [block["type"] for block in reply.body["content"]]
    (200, ['thinking', 'text'])
    >>> server.report.requests, server.report.refused
    (1, Counter())
    """

    script: Script = attrs.field(factory=AgentScript)
    window: int = 200_000
    """The context window, in tokens."""
    new_account: bool = True
    """Whether the account was created on or after 2026-08-31."""
    strict: bool = False
    """Whether the reasoning of the running loop must come back."""
    refusals: Literal["sent", "counted"] = "sent"
    """`counted`: a request with stale or missing reasoning is answered without it, and counted."""
    prices: TokenPrices | None = None
    """None for those of the wire."""
    clock: Callable[[], float] = _noon
    """The time in seconds, by which cached prefixes expire. By default it stands still."""
    aside: Callable[[Mapping[str, Any]], bool] = _never
    summary: Script = attrs.field(default=_summarize)
    """Answers the requests that are no part of the conversation."""
    wires: Sequence[ModelWire] = _WIRES
    served: list[ServedRequest] = attrs.field(factory=list, init=False, repr=False)
    """All requests, in order."""
    _made: dict[str, Made] = attrs.field(factory=dict, init=False, repr=False)
    _needed: dict[str, str] = attrs.field(factory=dict, init=False, repr=False)
    """The proof of the reasoning before each call."""
    _caches: dict[str, BlockCache] = attrs.field(factory=dict, init=False, repr=False)
    _compacted: dict[str, Compacted] = attrs.field(factory=dict, init=False, repr=False)
    _sent: _SentRequest | None = attrs.field(default=None, init=False, repr=False)
    _lock: Any = attrs.field(factory=threading.Lock, init=False, repr=False)

    @property
    def report(self) -> ServerReport:
        """Return the sums over all requests so far."""
        return ServerReport(tuple(self.served))

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> ServerReply:
        """Answer a request: `path` says which wire, as in a URL.

        Raises:
            ConfigError: no wire has such a path.
        """
        wire = self._wire(path)
        lower = {name.lower(): value for name, value in (headers or {}).items()}
        with self._lock:
            try:
                request = wire.read(body, lower, path)
                return self._answer(wire, request, body)
            except Refusal as refusal:
                reason, message = refusal.reason, refusal.message
                status = refusal.status
                record = ServedRequest(body=body, status=status, refusal=reason, message=message)
                self.served.append(record)
                return ServerReply(status, wire.error(refusal))

    def serve(self) -> AbstractContextManager[str]:
        """Return a context in which the server listens on loopback; it gives the base URL."""
        from agentic.testing._model_server._http import listen  # noqa: PLC0415  it loads sockets

        return listen(self)

    def _wire(self, path: str) -> ModelWire:
        for wire in self.wires:
            if re.fullmatch(rf".*{wire.path}", path.partition("?")[0]):
                return wire
        names = ", ".join(wire.path for wire in self.wires)
        raise ConfigError("path", path, f"the path of a wire: {names}", "check the base URL")

    def _answer(
        self, wire: ModelWire, request: ReadRequest, body: Mapping[str, Any]
    ) -> ServerReply:
        head = self._sent.head if self._sent and wire.binding.summary_without_tools else ""
        running = head if request.compacts else ""
        hashes = _reasoning.running_hashes(request.blocks, self._compacted, running)
        check_structure(request, wire.structure)
        verdict = self._judge(wire, request, hashes)
        refusal = self._check_reasoning(wire, request, verdict)
        unseen = {each.block.path for each in (*verdict.mismatches, *verdict.unreadable)}
        blocks = [self._sized(block) for block in request.blocks if block.path not in unseen]
        tokens = sum(block.tokens for block in blocks)
        if tokens > self.window:
            raise Refusal("overflow", *wire.overflow(tokens, self.window))
        aside = request.compacts or self.aside(body)
        answer = self.summary(body) if aside else self.script(body)
        if answer.status != _SERVED:
            raise Refusal("scripted", answer.text, status=answer.status)
        cache = self._caches.setdefault(wire.name, BlockCache(wire.cache))
        bill = cache.bill(request.model, blocks, request.settings, self.clock())
        reply = self._reply(wire, request, answer, bill, verdict)
        if request.compacts:
            self._remember_summary(wire, request, hashes, reply)
        changes = {} if aside else self._follow(wire, request, hashes, verdict, reply)
        prices = self.prices or wire.prices
        record = ServedRequest(
            body=body,
            status=200,
            refusal=refusal.reason if refusal else "",
            message=refusal.message if refusal else "",
            aside=aside,
            made=int(bool(reply.proof)),
            dropped=len(unseen),
            read=bill.read,
            written=bill.written,
            uncached=bill.uncached,
            output=reply.output,
            dollars=bill.dollars(prices, reply.output),
            **changes,
        )
        self.served.append(record)
        response = wire.write(reply)
        return ServerReply(200, response, tuple(wire.stream(response)) if request.stream else ())

    def _sized(self, block: Block) -> Block:
        """Return a block of reasoning with the size that it had when it was made."""
        entry = self._made.get(block.proof)
        return attrs.evolve(block, tokens=entry.tokens) if entry else block

    def _judge(self, wire: ModelWire, request: ReadRequest, hashes: Sequence[str]) -> Verdict:
        asks = request.on_mismatch is not None
        checks = wire.binding.checks(request.model, new_account=self.new_account, by_request=asks)
        return _reasoning.judge(
            request.blocks, hashes, self._made, request.model, wire.binding, checks=checks
        )

    def _check_reasoning(
        self, wire: ModelWire, request: ReadRequest, verdict: Verdict
    ) -> Refusal | None:
        """Raise the first refusal, or return it where it is only counted."""
        refusal = self._find_refusal(wire, request, verdict)
        if refusal and (self.refusals == "sent" or refusal.reason not in _COUNTED):
            raise refusal
        return refusal

    def _find_refusal(
        self, wire: ModelWire, request: ReadRequest, verdict: Verdict
    ) -> Refusal | None:
        summaries = [block for block in request.blocks if block.kind == "compaction"]
        unknown = [block for block in summaries if block.text not in self._compacted]
        for block in (*verdict.tampered, *unknown):
            return Refusal("signature", wire.tampered(block))
        removes = wire.binding.on_mismatch == "remove" or request.on_mismatch == "drop_block"
        if verdict.mismatches and not removes:
            words = wire.mismatch(verdict.mismatches[0].block, request.controls)
            return Refusal("binding", words)
        return find_lost(request, wire.structure, self._needed) if self.strict else None

    def _reply(
        self,
        wire: ModelWire,
        request: ReadRequest,
        answer: ScriptedAnswer,
        bill: CacheBill,
        verdict: Verdict,
    ) -> ModelReply:
        number = len(self.served)
        tool = answer.tool or next(iter(request.tool_names), "read")
        calls = tuple(
            ReplyCall(f"{wire.call_ids}{number:04d}{place:02d}", tool, arguments)
            for place, arguments in enumerate(answer.calls)
        )
        thinks = request.thinks and answer.thinking_tokens > 0
        arguments = sum(size_of(json.dumps(dict(call.arguments))) + _CALL_TOKENS for call in calls)
        tokens = answer.thinking_tokens if thinks else 0
        return ModelReply(
            id=f"{number:04d}",
            model=request.model,
            text=answer.text,
            calls=calls,
            thinking=answer.thinking if thinks else "",
            proof=_proof(number, wire.proof_chars) if thinks else "",
            read=bill.read,
            written=bill.written,
            uncached=bill.uncached,
            output=tokens + size_of(answer.text) + arguments,
            thinking_tokens=tokens,
            is_compaction=request.compacts,
            truncated=answer.truncated,
            transformations=_transformations(wire, request, verdict),
        )

    def _remember_summary(
        self, wire: ModelWire, request: ReadRequest, hashes: Sequence[str], reply: ModelReply
    ) -> None:
        """Remember what a compaction block stands for: reasoning behind it stays valid."""
        block = wire.replay(wire.write(reply))[0]
        role = request.blocks[-1].role if wire.binding.summary_changes_role else None
        self._compacted[block.text] = Compacted(hashes[-1], role)

    def _follow(
        self,
        wire: ModelWire,
        request: ReadRequest,
        hashes: Sequence[str],
        verdict: Verdict,
        reply: ModelReply,
    ) -> dict[str, Any]:
        """Compare a request with the one before it, and keep it for the next comparison."""
        # For the cache, a summary in place of what it summarized is a change.
        plain = _reasoning.running_hashes(request.blocks, {})
        former = self._sent
        head = plain[sum(block.role == "tools" for block in request.blocks)]
        self._sent = _SentRequest(tuple(plain), head, self._kept(wire, hashes, verdict, reply))
        if former is None:
            return {}
        present = {each.proof for each in verdict.valid}
        ends = zip(request.blocks, hashes[1:], strict=True)
        # Not that of a summary, which stands for what need not come back.
        present_now = {end for block, end in ends if block.kind != "compaction"}
        absent = [each for each in former.usable if each.proof not in present]
        missing = [each for each in absent if each.after in present_now]
        return {
            "change": _first_change(former.hashes, plain, request),
            "lost": len(missing),
            "stale": len(absent) - len(missing) if wire.binding.binds(request.model) else 0,
        }

    def _kept(
        self, wire: ModelWire, hashes: Sequence[str], verdict: Verdict, reply: ModelReply
    ) -> tuple[Made, ...]:
        """Remember the reasoning of a reply, and return all that can be sent back."""
        if not reply.proof:
            return verdict.valid
        replayed = wire.replay(wire.write(reply))
        reasoning = next(block for block in replayed if block.kind == "reasoning")
        blocks = [block for block in replayed if block.kind != "reasoning"]
        record = Made(
            proof=reply.proof,
            model=reply.model,
            text=reasoning.words,
            prefix=hashes[-1],
            chain=tuple(each.proof for each in verdict.valid),
            tokens=reply.thinking_tokens,
            after=_reasoning.running_hashes(blocks[:1], {}, hashes[-1])[-1],
        )
        self._made[reply.proof] = record
        self._needed.update((call.id, reply.proof) for call in reply.calls)
        return (*verdict.valid, record)


def _transformations(
    wire: ModelWire, request: ReadRequest, verdict: Verdict
) -> tuple[Mapping[str, Any], ...]:
    exempt = verdict.allowed if wire.binding.binds(request.model) else ()
    mismatches = (*verdict.mismatches, *verdict.unreadable, *exempt)
    return tuple(wire.transformation(each) for each in mismatches)


def _proof(number: int, chars: int) -> str:
    """Return a signature, as long as those of a provider."""
    pieces = -(-chars // 32)
    return "".join(_reasoning.digest("proof", str(number), str(n)) for n in range(pieces))[:chars]


def _first_change(former: Sequence[str], hashes: Sequence[str], request: ReadRequest) -> str:
    """Return the path of the first block that the former request did not have there."""
    if former[-1] in hashes:
        return ""
    before = set(former)
    change = (
        block.path
        for block, behind in zip(request.blocks, hashes[1:], strict=True)
        if behind not in before
    )
    return next(change, "the end")
