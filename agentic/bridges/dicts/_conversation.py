"""One conversation that its owner keeps as a list of a provider's items."""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from types import ModuleType, NoneType
from typing import Any

import attrs

from agentic._validate import must_be, suggest
from agentic._waiting import LoopLock, off_loop
from agentic.bridges._lists import are_same
from agentic.bridges._view_parts import ViewParts, log_notes, tools_as_one
from agentic.bridges.dicts._items import ItemReader
from agentic.bridges.dicts._requests import FORMS, Opened, RequestForm, describe_tools
from agentic.bridges.dicts._write import RequestWriter
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared, Removal, View
from agentic.errors import ConfigError, ContextOverflow
from agentic.messages import Message, from_plain
from agentic.providers.kit import RecordRole
from agentic.providers.kit._record import check_record_role
from agentic.providers.kit._templates import alternates
from agentic.tokens import Counter
from agentic.tools import ToolDefinition

_log = logging.getLogger(__name__)

_VERSION = 1


@attrs.define(eq=False)
class Conversation:
    """Keeps the requests of one conversation within the window; never changes the owner's list.

    >>> from agentic.providers import openai_chat
    >>> conversation = Conversation(openai_chat, 1_000)
    >>> remarks = (f"Remark {n}: " + "so it goes. " * 20 for n in range(40))
    >>> history = [{"role": "user", "content": remark} for remark in remarks]
    >>> sent = conversation.fit(history)
    >>> len(history), len(sent) < 20, sent[-1] is history[-1], sent[0]["content"][:16]
    (40, True, True, '[Context Summary')

    Args:
        wire: an adapter of `agentic.providers`: openai_chat, openai_responses, anthropic, gemini,
            bedrock, cohere or ollama.
        window: the name of a model, the size of its window in tokens, or a complete Policy.
        compactor: writes the summaries; by default a Digest, which needs no model.
        strategies: applied to the history when an epoch begins.
        counter: by default the best one installed for the model, otherwise an estimate. Without a
            model's name, images count as for the models of the wire's provider; `tokens_per_media`
            in a Policy is another number for each.
        model: the model that the requests are for. By default the one that `window`, a request or a
            response names; whether it binds its reasoning depends on it.
        record_role: the role in which a summary is sent: `user`, or `system` if the wire has it in
            its list.
        strict_roles: whether roles have to alternate wherever something was left out. By default
            it is known by the name of a model whose chat template demands it.
        server_drops: whether the sender lets the provider drop stale reasoning, or retries so after
            a refusal. OpenAI's servers drop it in any case.
        state: what `state()` returned for this conversation, perhaps in another process.

    Raises:
        ConfigError: the wire, the role or the model's window is unknown, or the state is damaged.
    """

    wire: ModuleType = attrs.field()
    window: Policy | int | str = attrs.field()
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    strategies: Chain | Sequence[ContextStrategy] = attrs.field(default=(), kw_only=True)
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    record_role: RecordRole = attrs.field(default="user", kw_only=True)
    strict_roles: bool | None = attrs.field(default=None, kw_only=True)
    server_drops: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    _state: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, alias="state")
    latest: Prepared | None = attrs.field(default=None, init=False, repr=False)
    """The View's decision about the latest request: its size, whether it fits, what happened. Its
    messages and positions are the View's, not those of the owner's items."""
    _view: View = attrs.field(init=False, repr=False)
    _reader: ItemReader = attrs.field(init=False, repr=False)
    _writer: RequestWriter = attrs.field(init=False, repr=False)
    _form: RequestForm = attrs.field(init=False, repr=False)
    _tools: tuple[str, tuple[ToolDefinition, ...]] = attrs.field(default=("", ()), init=False)
    # For `fit` in several threads; it is not held while a compactor is awaited.
    _threads: Any = attrs.field(factory=threading.RLock, init=False, repr=False)
    # For the async methods, whose decisions would overlap while a compactor is awaited.
    _turns: LoopLock = attrs.field(factory=LoopLock, init=False, repr=False)

    @wire.validator
    def _check_wire(self, _: object, wire: object) -> None:
        if getattr(wire, "NAME", None) not in FORMS:
            names = ", ".join(sorted(FORMS))
            remedy = suggest(wire, FORMS, "import it from providers")
            raise ConfigError("wire", wire, f"an adapter: {names}", remedy)

    @record_role.validator
    def _check_role(self, _: object, role: object) -> None:
        check_record_role(role)
        if role == "system" and not FORMS[self.wire.NAME].has_system_role:
            remedy = "leave it out to send the summary as a user message"
            raise ConfigError("record_role", role, f"user for {self.wire.NAME}", remedy)

    def __attrs_post_init__(self) -> None:
        if not self.model and isinstance(self.window, str):
            self.model = self.window
        self._form = FORMS[self.wire.NAME]
        family = self.model or self._form.family
        parts = ViewParts.of(
            self.window, self.compactor, self.strategies, self.counter, family=family
        )
        self.counter, self.compactor = parts.counter, parts.compactor
        self._reader = ItemReader(self.wire, self._form.takes_texts)
        self._writer = RequestWriter(self.wire, self._form, self.record_role)
        state = None if self._state is None else self._read_state(self._state)
        self._view = parts.view(state, model=self.model)
        self._view.server_drops = self.server_drops or self._form.drops_reasoning

    def fit(self, messages: Sequence[Any], *, refused: bool = False) -> list[Any]:
        """Return what to send of a list of messages, after summarizing it if a summary is due.

        The list is not changed, and items that need no change are returned as the same objects. If
        nothing has to be left out, the same list is returned. A summary is a user message after
        the system messages at the start of the list, marked as a record of the past.

        Args:
            messages: dicts, or objects of the provider's SDK.
            refused: whether the provider refused the latest request as too large. The result is
                then strictly smaller.

        Raises:
            ConfigError: `messages` is not a list of the wire's items, or the provider holds a part
                of the conversation.
            ContextOverflow: `refused` is true, and no smaller request is possible.
        """
        with self._threads:
            self._read(messages)
            self._prepare_sync(refused=refused)
            items = self._write()
        return _same_or(messages, items)

    async def fit_async(self, messages: Sequence[Any], *, refused: bool = False) -> list[Any]:
        """Return what `fit` returns; a compactor that waits does not block the event loop."""
        items = await self._write_async(messages, refused=refused)
        return _same_or(messages, items)

    def fit_request(
        self, request: Mapping[str, Any], /, *, refused: bool = False
    ) -> dict[str, Any]:
        """Return a complete request, or the arguments of an SDK's call, with a list that fits.

        The system prompt and the tools are counted; they stay as they are, as does all else besides
        the list. The argument is not changed.
        """
        opened = self._form.open(request)
        with self._threads:
            self._learn_model(request.get("model") or request.get("modelId"))
            self._read(opened.items)
            self._prepare_sync(*self._beside(opened), refused=refused)
            items = self._write()
        return self._form.close(request, opened, items)

    async def fit_request_async(
        self, request: Mapping[str, Any], /, *, refused: bool = False
    ) -> dict[str, Any]:
        """Return what `fit_request` returns, without blocking the event loop."""
        opened = self._form.open(request)
        self._learn_model(request.get("model") or request.get("modelId"))
        items = await self._write_async(opened.items, opened, refused=refused)
        return self._form.close(request, opened, items)

    def report(self, response: Any) -> None:
        """Record how large the latest request was, according to the provider.

        `response` is what the SDK returned, or its JSON data. Without reports, the size is
        estimated.

        Raises:
            ConfigError: `response` is not a response of this wire.
        """
        if isinstance(response, str | bytes | int | float | list | tuple | NoneType):
            allowed = "what the SDK returned, or its JSON data as a dict"
            raise ConfigError("response", response, allowed, "pass the whole response")
        decision = self.wire.decode_response(response)
        self._learn_model(decision.response_model)
        reply = Message(
            "assistant", decision.reply, tool_calls=decision.tool_calls, media=decision.media
        )
        self._view.report(reply, decision.request_usage)

    def explain(self) -> list[Removal]:
        """Return what is missing from the latest request or shortened in it, and why.

        Positions refer to the owner's items.
        """
        with self._threads:
            return [
                attrs.evolve(each, positions=self._reader.items_of(each.positions))
                for each in self._view.explain()
            ]

    def state(self) -> dict[str, Any]:
        """Return what must be kept between processes, as plain JSON of a few kilobytes.

        It contains the latest summary with its notes, how many items it covers, which of them were
        kept, a hash of them, the calibration and the back-off. It contains nothing else of the
        conversation.
        """
        with self._threads:
            return self._to_plain()

    def _to_plain(self) -> dict[str, Any]:
        # Without a list, the View's positions cannot be counted in items.
        if not self._reader.items and self._state is not None:
            return dict(self._state)
        view, covered = self._view.state(), self._view.covered
        kept = view["compaction"]["kept"] if covered else ()
        return {
            "v": _VERSION,
            "wire": self.wire.NAME,
            "covered": self._reader.items_before(covered),
            "kept": list(self._reader.items_of(kept)),
            "summaries": list(self._reader.summaries)[-1:],
            "view": view,
        }

    def _read_state(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Restore a state, and return the part of it that belongs to the View."""
        known: Any = state
        if not isinstance(known, Mapping) or known.get("v") != _VERSION:
            expected = f"what state() returned, of version {_VERSION}"
            raise ConfigError("state", state, expected, "leave it out")
        if known.get("wire") != self.wire.NAME:
            expected = f"the state of a conversation on {self.wire.NAME}"
            raise ConfigError("state", dict(state), expected, "leave it out")
        try:
            stored = known["view"].get("compaction", {}).get("summary")
            summary = from_plain(stored).summary if stored else None
            if summary is not None:
                self._reader.summaries.update(dict.fromkeys(known["summaries"], summary))
            view: Mapping[str, Any] = known["view"]
        except (AttributeError, KeyError, TypeError) as problem:
            expected = "what state() returned"
            raise ConfigError("state", dict(state), expected, "leave it out") from problem
        return view

    def _learn_model(self, name: object) -> None:
        """Take over the model that a request or a response names, unless the caller said it."""
        if isinstance(name, str):
            self._view.model = self.model or name or self._view.model

    def _read(self, items: Sequence[Any]) -> None:
        _check_list(items)
        self._reader.read(items, self._reader.items_before(self._view.covered))
        first = next((m for m in self._reader.messages if m.role != "system"), None)
        # The results of calls that the provider keeps would be dropped as orphans.
        if self._form.on_server and first is not None and first.role == "tool":
            raise ConfigError(
                "messages",
                first.tool_results[0].call_id,
                "a list that holds the calls of all its results",
                "send the whole history, or leave it to the provider (previous_response_id)",
            )

    def _beside(self, opened: Opened) -> tuple[str, tuple[ToolDefinition, ...]]:
        """Return the system prompt and the tools of a request, as a View measures them."""
        # Compared as text: clients build their list of tools anew for each request.
        text = describe_tools(opened.tools)
        if text != self._tools[0]:
            self._tools = text, tools_as_one(text and json.loads(text))
        return opened.system_text, self._tools[1]

    def _prepare_sync(
        self, system: str = "", tools: Sequence[ToolDefinition] = (), *, refused: bool
    ) -> None:
        messages = self._reader.messages
        if refused and self.latest is not None:
            self._take(self._view.shrink_sync(self.latest.messages, history=messages))
        else:
            self._take(self._view.prepare_sync(messages, system_prompt=system, tools=tools))

    async def _write_async(
        self,
        messages: Sequence[Any],
        opened: Opened | None = None,
        *,
        refused: bool,
    ) -> list[Any]:
        _check_list(messages)
        # A copy: the owner may append while the compactor is awaited.
        items = list(messages)
        async with self._turns:
            size = self._reader.count_new(items)
            given = await self._read_async(items, size)
            system, tools = ("", ()) if opened is None else self._beside(opened)
            latest = self.latest if refused else None
            if latest is not None:
                prepared = await self._view.shrink(latest.messages, history=given)
            else:
                prepared = await self._view.prepare(given, system_prompt=system, tools=tools)
            return await off_loop(size, self._write_prepared, items, prepared)

    async def _read_async(self, items: list[Any], size: int) -> list[Message]:
        try:
            return await off_loop(size, self._read_messages, items)
        except RuntimeError:
            # The owner has changed an item while it was read in the thread.
            return self._read_messages(items)

    def _read_messages(self, items: list[Any]) -> list[Message]:
        """Read a list, and return a copy of its messages: another list may be read meanwhile."""
        with self._threads:
            self._read(items)
            return self._reader.messages.copy()

    def _write_prepared(self, items: list[Any], prepared: Prepared | None) -> list[Any]:
        with self._threads:
            self._read(items)  # another call may have read another list meanwhile
            self._take(prepared)
            return self._write()

    def _take(self, prepared: Prepared | None) -> None:
        if prepared is None:
            name = self.window if isinstance(self.window, str) else self.wire.NAME
            sent = None if self.latest is None else self.latest.tokens
            raise ContextOverflow(name, sent, self._view.policy.context_window or None)
        self.latest = prepared
        log_notes(_log, prepared)

    def _write(self) -> list[Any]:
        if self.latest is None:
            return self._reader.sent_items(0)
        if self.latest.messages is self._reader.messages:
            return self._writer.write_all(self._reader, extends=self.latest.extends)
        strict = self.strict_roles
        if strict is None:
            strict = self._form.is_templated and alternates(self._view.model)
        return self._writer.write(
            self.latest.messages, self._reader, strict_roles=strict, extends=self.latest.extends
        )


def _check_list(items: object) -> None:
    """Raise unless this is a list of a wire's items.

    Raises:
        ConfigError: a single item, a text, or Messages of this package.
    """
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        raise ConfigError("messages", items, "a list of messages")
    if items and isinstance(items[0], Message):
        remedy = "pass Message objects to context.view.View"
        raise ConfigError("messages", items[0], "dicts or an SDK's objects", remedy)


def _same_or(messages: Sequence[Any], items: list[Any]) -> list[Any]:
    """Return the owner's list itself if it is sent unchanged."""
    return messages if isinstance(messages, list) and are_same(messages, items) else items
