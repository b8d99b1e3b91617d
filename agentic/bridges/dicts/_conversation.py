"""One conversation that its owner keeps as a list of a provider's items."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any

import attrs

from agentic._base._validate import must_be
from agentic.bridges.dicts._items import ItemMirror, WireForm
from agentic.bridges.dicts._write import RequestWriter, describe_tools
from agentic.bridges.kit import ListView
from agentic.bridges.kit._view_parts import ViewParts, read_window
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared
from agentic.errors import CompactionRefused, ConfigError
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.providers._registry import as_adapter
from agentic.providers.kit import Adapter, RequestForm
from agentic.providers.kit._record import RecordRole, check_record_role
from agentic.providers.kit._requests import Opened
from agentic.providers.kit._templates import alternates
from agentic.tokens import Counter

if TYPE_CHECKING:
    from agentic.context.view._picture import Explanation

_VERSION = 1
_fitted: "ContextVar[tuple[Conversation, tuple[Mapping[str, Any], Opened] | None] | None]" = (
    ContextVar("agentic_fitted", default=None)
)
"""The conversation whose request is being fitted in this task, and the request if it is complete.

Not an attribute: a second call may begin while the compactor of the first is awaited."""


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
        wire: an adapter: a module of `agentic.providers`, such as openai_chat, or the `ADAPTER` of
            any other.
        window: the name of a model, the size of its window in tokens (also as `16k`), or a complete
            Policy.
        compactor: writes the summaries; by default a Digest, which needs no model. A
            `Continuation(ask)` asks your own function with what `fit` or `fit_request` returns.
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
        ask: sends a request of the form that `fit` or `fit_request` returns, and returns the
            response. A compactor that has no function of its own asks the model by it.
        state: what `state()` returned for this conversation, perhaps in another process.

    Raises:
        ConfigError: the wire, the role or the model's window is unknown, or the state is damaged.
    """

    wire: ModuleType | Adapter = attrs.field()
    window: Policy | int | str = attrs.field(converter=read_window)
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    strategies: Chain | Sequence[ContextStrategy] = attrs.field(default=(), kw_only=True)
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    record_role: RecordRole = attrs.field(default="user", kw_only=True)
    strict_roles: bool | None = attrs.field(default=None, kw_only=True)
    server_drops: bool = attrs.field(default=False, kw_only=True, validator=must_be(bool))
    ask: Callable[[Any], Awaitable[Any]] | None = attrs.field(default=None, kw_only=True)
    _state: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, alias="state")
    _list: ListView = attrs.field(init=False, repr=False)
    _mirror: ItemMirror = attrs.field(init=False, repr=False)
    _writer: RequestWriter = attrs.field(init=False, repr=False)
    _adapter: Adapter = attrs.field(init=False, repr=False)
    _form: RequestForm = attrs.field(init=False, repr=False)
    _tools: tuple[str, Any] = attrs.field(default=("", ()), init=False, repr=False)

    @wire.validator
    def _check_wire(self, _: object, wire: object) -> None:
        as_adapter(wire)

    @record_role.validator
    def _check_role(self, _: object, role: object) -> None:
        check_record_role(role)
        adapter = as_adapter(self.wire)
        if role == "system" and not adapter.form.has_system_role:
            remedy = "leave it out to send the summary as a user message"
            raise ConfigError("record_role", role, f"user for {adapter.name}", remedy)

    def __attrs_post_init__(self) -> None:
        if not self.model and isinstance(self.window, str):
            self.model = self.window
        adapter = as_adapter(self.wire)
        self._adapter, self._form = adapter, adapter.form
        family = self.model or self._form.family
        parts = ViewParts.of(
            self.window, self.compactor, self.strategies, self.counter, family=family
        )
        self.counter, self.compactor = parts.counter, parts.compactor
        self._mirror = ItemMirror(WireForm(adapter, self._form.takes_texts))
        self._writer = RequestWriter(adapter, self._form, self.record_role)
        name = self.window if isinstance(self.window, str) else self._adapter.name
        self._list = ListView(
            self._mirror,
            parts,
            name=name,
            model=self.model,
            check=self._check_start,
            write=self._write,
        )
        if self._state is not None:
            self._restore(self._state)
        view, codec = self._list.view, _Codec(self)
        view.server_drops = self.server_drops or self._form.drops_reasoning
        view.provider, view.codec, view.ask = adapter.name, codec, codec.ask

    @property
    def latest(self) -> Prepared | None:
        """The View's decision about the latest request: its size, whether it fits, what happened.

        Its messages and positions are the View's, not those of the owner's items.
        """
        return self._list.latest

    def fit(self, messages: Sequence[Any], *, refused: object = False) -> list[Any]:
        """Return what to send of a list of messages, after summarizing it if a summary is due.

        The list is not changed, and items that need no change are returned as the same objects. If
        nothing has to be left out, the same list is returned. A summary is a user message after
        the system messages at the start of the list, marked as a record of the past.

        Args:
            messages: dicts, or objects of the provider's SDK.
            refused: whether the provider refused the latest request as too large, or its error,
                which says whether there were too many tokens, bytes or images. The result is then
                strictly smaller in these. An error that is not about size is no refusal.

        Raises:
            ConfigError: `messages` is not a list of the wire's items, or the provider holds a part
                of the conversation.
            ContextOverflow: the request was refused, and no smaller one is possible.
        """
        with self._fitting(None):
            return self._list.fit(messages, refused=refused)

    async def fit_async(self, messages: Sequence[Any], *, refused: object = False) -> list[Any]:
        """Return what `fit` returns; a compactor that waits does not block the event loop."""
        with self._fitting(None):
            return await self._list.fit_async(messages, refused=refused)

    def fit_request(
        self, request: Mapping[str, Any], /, *, refused: object = False, model: str = ""
    ) -> dict[str, Any]:
        """Return a complete request, or the arguments of an SDK's call, with a list that fits.

        The system prompt and the tools are counted; they stay as they are, as does all else besides
        the list. The argument is not changed. `model` is for a wire that names it in the URL.
        """
        body = self._form.open(request)
        with self._fitting((request, body)):
            beside = self._beside(model or request.get("model") or request.get("modelId"), body)
            items = self._list.fit(body.items, refused=refused, **beside)
        return self._form.close(request, body, items)

    async def fit_request_async(
        self, request: Mapping[str, Any], /, *, refused: object = False, model: str = ""
    ) -> dict[str, Any]:
        """Return what `fit_request` returns, without blocking the event loop."""
        body = self._form.open(request)
        with self._fitting((request, body)):
            beside = self._beside(model or request.get("model") or request.get("modelId"), body)
            items = await self._list.fit_async(body.items, refused=refused, **beside)
        return self._form.close(request, body, items)

    def report(self, response: Any) -> None:
        """Record how large the latest request was, according to the provider.

        `response` is what the SDK returned, or its JSON data. Without reports, the size is
        estimated.

        Raises:
            ConfigError: `response` is not a response of this wire.
        """
        if isinstance(response, str | bytes | int | float | list | tuple | NoneType):
            requirement = "what the SDK returned, or its JSON data as a dict"
            raise ConfigError("response", response, requirement, "pass the whole response")
        decision = self._adapter.decode_response(response)
        if decision.response_model:
            self._list.view.model = self.model or decision.response_model
        reply = Message(
            "assistant", decision.reply, tool_calls=decision.tool_calls, media=decision.media
        )
        self._list.report(reply, decision.request_usage)

    def explain(self) -> "Explanation":
        """Return what is missing from the latest request or shortened in it, and why.

        Positions refer to the owner's items.
        """
        return self._list.explain()

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()

    def __rich__(self) -> "Explanation":
        """Return what rich prints for it."""
        return self.explain()

    def state(self) -> dict[str, Any]:
        """Return what must be kept between processes, as plain JSON of a few kilobytes.

        It contains the latest summary with its notes, how many items it covers, which of them were
        kept, a hash of them, the calibration and the back-off. It contains nothing else of the
        conversation.
        """
        with self._list.lock:
            # Without a list, the View's positions cannot be counted in items.
            if not self._mirror.items and self._state is not None:
                return dict(self._state)
            view, length = self._list.view.state(), self._list.view.covered
            positions = view["compaction"]["kept"] if length else ()
            return {
                "v": _VERSION,
                "wire": self._adapter.name,
                "covered": self._mirror.items_before(length),
                "kept": list(self._mirror.items_of(positions)),
                "summaries": list(self._mirror.summaries)[-1:],
                "view": view,
            }

    def _restore(self, state: Mapping[str, Any]) -> None:
        data: Any = state
        if not isinstance(data, Mapping) or data.get("v") != _VERSION:
            requirement = f"what state() returned, of version {_VERSION}"
            raise ConfigError("state", state, requirement, "leave it out")
        if data.get("wire") != self._adapter.name:
            requirement = f"the state of a conversation on {self._adapter.name}"
            raise ConfigError("state", dict(state), requirement, "leave it out")
        if not isinstance(data.get("view"), Mapping):
            raise ConfigError("state", dict(state), "what state() returned", "leave it out")
        try:
            self._list.restore(data["view"])
            record = self._list.record
            if record is not None:
                self._mirror.summaries.update(dict.fromkeys(data["summaries"], record.summary))
        except (AttributeError, KeyError, TypeError) as problem:
            requirement = "what state() returned"
            raise ConfigError("state", dict(state), requirement, "leave it out") from problem

    @contextmanager
    def _fitting(self, request: tuple[Mapping[str, Any], Opened] | None) -> Iterator[None]:
        """Let what a compactor asks during this call have the form of its request."""
        token = _fitted.set((self, request))
        try:
            yield
        finally:
            _fitted.reset(token)

    def _check_start(self) -> None:
        """Raise for a list whose first calls are the provider's to keep."""
        first = next((m for m in self._mirror.messages if m.role != "system"), None)
        # The results of calls that the provider keeps would be dropped as orphans.
        if self._form.on_server and first is not None and first.role == "tool":
            raise ConfigError(
                "messages",
                first.tool_results[0].call_id,
                "a list that holds the calls of all its results",
                "send the whole history, or leave it to the provider (previous_response_id)",
            )

    def _beside(self, value: object, body: Opened) -> dict[str, Any]:
        """Return the system prompt and the tools of a request, as they are measured, and its model.

        The model is the one that is named with the request, unless the caller named one.
        """
        # Compared as text: clients build their list of tools anew for each request.
        text, cache = describe_tools(body.tools), self._tools
        if text != cache[0]:
            self._tools = cache = text, json.loads(text) if text else []
        model = self.model or (value if isinstance(value, str) else "")
        return {"system_prompt": body.system_text, "tools": cache[1], "model": model}

    def _write(self, request: Prepared) -> list[Any]:
        if request.messages is self._mirror.messages:
            return self._writer.write_all(self._mirror, extends=request.extends)
        return self._writer.write(
            request.messages,
            self._mirror,
            strict_roles=self._has_strict_roles,
            extends=request.extends,
        )

    @property
    def _has_strict_roles(self) -> bool:
        if self.strict_roles is None:
            return self._form.is_templated and alternates(self._list.view.model)
        return self.strict_roles


@attrs.frozen(eq=False)
class _Codec:
    """Writes a compactor's requests as those of a conversation, and reads the responses to them."""

    conversation: Conversation

    async def ask(self, request: Input, /) -> Decision:
        """Ask by the function of the conversation.

        Raises:
            CompactionRefused: it has none.
        """
        send = self.conversation.ask
        if send is None:
            raise CompactionRefused("there is no model to ask: pass a function to the compactor")
        return self.read_reply(await send(self.write_request(request)))

    def write_request(self, request: Input, /) -> Any:
        """Return what `fit` or `fit_request` would return for it, whichever is being called."""
        talk = self.conversation
        with talk._list.lock:  # noqa: SLF001  here and below: a part of the conversation
            items = talk._writer.copy().write(  # noqa: SLF001
                list(request.history),
                talk._mirror,  # noqa: SLF001
                strict_roles=talk._has_strict_roles,  # noqa: SLF001
                extends=len(request.history) > 1,
            )
        owner, own_items = _fitted.get() or (None, None)
        own_items = own_items if owner is talk else None
        return items if own_items is None else talk._form.close(*own_items, items)  # noqa: SLF001

    def read_reply(self, reply: Any, /) -> Decision:
        """Return what a response says."""
        decision: Decision = self.conversation._adapter.decode_response(reply)  # noqa: SLF001
        return decision
