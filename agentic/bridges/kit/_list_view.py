"""One conversation in somebody else's list: what to send of it, and what is remembered."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from agentic import truncate
from agentic._base._validate import must_be
from agentic._base._waiting import LoopLock, off_loop
from agentic.bridges.kit._lists import are_same
from agentic.bridges.kit._mirror import Mirror
from agentic.bridges.kit._units import Unit
from agentic.bridges.kit._view_parts import (
    ViewParts,
    log_notes,
    read_refusal,
    read_window,
    tools_as_one,
)
from agentic.context.budget import Compactor, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.strategies import Chain, ContextStrategy
from agentic.context.view import Prepared, View
from agentic.errors import ConfigError, ContextOverflow
from agentic.messages import Message, from_plain
from agentic.providers.overflow._size_refusal import SizeRefusal
from agentic.tokens import Counter
from agentic.tools import ToolDefinition
from agentic.usage import Usage

if TYPE_CHECKING:
    from agentic.context.view._picture import Explanation

_log = logging.getLogger(__name__)
_VERSION = 1


@attrs.define(eq=False)
class ListView:
    """Keeps the requests of one conversation within the window; never changes the owner's list.

    It may be asked from sync and from async code at once, and from several threads.

    Args:
        form: an `ItemForm`, or a `Mirror` of one.
        window: the name of a model, the size of its window in tokens (also as `16k`), or a complete
            Policy.
        compactor: writes the summaries; by default a Digest, which needs no model.
        strategies: applied to the history when an epoch begins.
        counter: by default the best one installed for the model, otherwise an estimate.
        truncation: limits for the outputs of tools, which are cut before they are first sent.
        state: what `state()` returned for this conversation, perhaps in another process.

    Raises:
        ConfigError: the model's window is unknown, or the state is damaged.
    """

    form: Any = attrs.field()
    window: Policy | int | str | ViewParts = attrs.field()
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    strategies: Chain | Sequence[ContextStrategy] = attrs.field(default=(), kw_only=True)
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    truncation: truncate.Options | None = attrs.field(
        default=None, kw_only=True, validator=must_be(truncate.Options, optional=True)
    )
    model: str = attrs.field(default="", kw_only=True, validator=must_be(str))
    """The model that the requests are for; by default the one that `window` names."""
    name: str = attrs.field(default="a list", kw_only=True, validator=must_be(str))
    """What an overflow is said to be of, if the model is not known."""
    _state: Mapping[str, Any] | None = attrs.field(default=None, kw_only=True, alias="state")
    _write: Callable[[Prepared], list[Any]] | None = attrs.field(
        default=None, kw_only=True, alias="write"
    )
    """Writes a request, if not every unit can be written alone."""
    _check: Callable[[], None] | None = attrs.field(default=None, kw_only=True, alias="check")
    """Raises for a list that was read and must not be sent."""
    latest: Prepared | None = attrs.field(default=None, init=False, repr=False)
    """The View's decision about the latest request: its size, whether it fits, what happened. Its
    messages and positions are the View's, not those of the owner's items."""
    view: View = attrs.field(init=False, repr=False)
    record: Message | None = attrs.field(default=None, init=False, repr=False)
    """The summary of the state that the conversation went on from."""
    mirror: Mirror = attrs.field(init=False, repr=False)
    _has_view: bool = attrs.field(default=False, init=False, repr=False)
    _is_unwritten: bool = attrs.field(default=False, init=False, repr=False)
    """Whether an epoch has begun by a rewrite, so that no request of it was written yet."""
    _parts: ViewParts = attrs.field(init=False, repr=False)
    _tools: tuple[Any, tuple[ToolDefinition, ...]] = attrs.field(default=(None, ()), init=False)
    # For `fit` in several threads; it is not held while a compactor is awaited.
    _threads: Any = attrs.field(factory=threading.RLock, init=False, repr=False)
    # For the async methods, whose decisions would overlap while a compactor is awaited.
    _turns: LoopLock = attrs.field(factory=LoopLock, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.window, ViewParts):
            self.window = read_window(self.window)
        if isinstance(self.window, str):
            self.name = self.window
            self.model = self.model or self.window
        self._parts = (
            self.window
            if isinstance(self.window, ViewParts)
            else ViewParts.of(
                self.window, self.compactor, self.strategies, self.counter, family=self.model
            )
        )
        self.counter, self.compactor = self._parts.counter, self._parts.compactor
        is_mirror = isinstance(self.form, Mirror)
        self.mirror = self.form if is_mirror else Mirror(self.form, truncation=self.truncation)
        state = None if self._state is None else _check_state(self._state)
        self.restore(state)

    def fit(
        self,
        items: Sequence[Any],
        *,
        system_prompt: str | None = None,
        tools: Any = None,
        model: str = "",
        refused: object = False,
    ) -> list[Any]:
        """Return what to send of a list of items, after summarizing it if a summary is due.

        Items that need no change are returned as the same objects. If nothing has to be left out,
        the same list is returned.

        Args:
            items: the owner's list.
            system_prompt: what is sent besides the items; it is only measured here. After a refusal
                both are by default those of the latest request.
            tools: the tools as they are sent, as JSON data; also only measured.
            model: the model that the request is for, if it is not that of the latest one.
            refused: whether the provider refused the latest request as too large, or its error,
                which says whether there were too many tokens, bytes or images. The result is then
                strictly smaller in these. An error that is not about size is no refusal.

        Raises:
            ConfigError: `items` is not a list of the framework's items.
            ContextOverflow: the request was refused, and no smaller one is possible.
        """
        refusal = read_refusal(refused)
        with self._threads:
            self.view.model = model or self.view.model
            request = self._prepare_sync(items, system_prompt, tools, refusal)
            return _same_or(items, self._written(self._take(request, refusal)))

    async def fit_async(
        self,
        items: Sequence[Any],
        *,
        system_prompt: str | None = None,
        tools: Any = None,
        model: str = "",
        refused: object = False,
        target: CompactionTarget | None = None,
    ) -> list[Any]:
        """Return what `fit` returns; a compactor that waits does not block the event loop.

        A `target` is an owner who stores a compaction in place of what it covers, before the
        request is made.
        """
        _check_list(items)
        refusal = read_refusal(refused)
        # A copy: the owner may append while the compactor is awaited.
        copy = list(items)
        async with self._turns:
            # Not before: the turn of another model may be awaiting its compactor.
            self.view.model = model or self.view.model
            size = self.mirror.count_new(copy)
            messages, units = await self._read_async(copy, size)
            latest, beside = self.latest, self._beside(system_prompt, tools)
            if refusal is not None and latest is not None:
                beside |= {"kind": refusal.kind, "limit": refusal.limit}
                request = await self.view.shrink(
                    latest.messages, history=messages, target=target, **beside
                )
            else:
                request = await self.view.prepare(messages, target=target, **beside)
            result = await off_loop(size, self._write_prepared, copy, units, request, refusal)
            return _same_or(items, result)

    def rewrite(
        self, items: Sequence[Any], *, system_prompt: str | None = None, tools: Any = None
    ) -> list[Any] | None:
        """Return the list that an owner keeps from now on: the summary in place of what it covers.

        It is for an owner who can replace the list, and then has to: it is the list that the next
        `fit` is expected to continue. None if nothing is summarized. What strategies or the window
        leave out of a request stays in it.
        """
        with self._threads:
            request = self._prepare_sync(items, system_prompt, tools, None)
            return self._rewritten(self._take(request))

    async def rewrite_async(
        self, items: Sequence[Any], *, system_prompt: str | None = None, tools: Any = None
    ) -> list[Any] | None:
        """Return what `rewrite` returns; a compactor that waits does not block the event loop."""
        _check_list(items)
        copy = list(items)
        async with self._turns:
            size = self.mirror.count_new(copy)
            messages, units = await self._read_async(copy, size)
            request = await self.view.prepare(messages, **self._beside(system_prompt, tools))
            return await off_loop(size, self._rewrite_prepared, copy, units, request)

    def write_aside(self, sent: list[Message]) -> list[Any]:
        """Return the items of a request beside the conversation, as a compactor makes it.

        It extends the latest request, and the next one goes on as if it had not been.
        """
        with self._threads:
            return self.mirror.write_aside(sent)

    def report(self, reply: Message, usage: Usage | None = None) -> None:
        """Record how large the latest request was, according to the provider.

        Replies that carry their usage when they are read are reported thereby.
        """
        self.view.report(reply, usage)

    def explain(self) -> "Explanation":
        """Return what is missing from the latest request or shortened in it, and why.

        Positions refer to the owner's items.
        """
        with self._threads:
            explanation = self.view.explain()
            removals = (
                attrs.evolve(each, positions=self.mirror.items_of(each.positions))
                for each in explanation
            )
            return type(explanation)(removals, explanation.parts, explanation.epoch)

    def state(self) -> dict[str, Any]:
        """Return what must be kept between processes, as plain JSON of a few kilobytes.

        It contains the latest summary, a hash of what it covers, and how sizes are estimated; it
        contains nothing else of the conversation.
        """
        with self._threads:
            return {"v": _VERSION, "view": self.view.state()}

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Go on from the state of a View, which may be another process's; from none if None.

        Raises:
            ConfigError: the state is damaged. Nothing is changed then.
        """
        view = self._parts.view(state, model=self.model)
        if self._has_view:
            former = self.view
            view.model, view.server_drops = former.model, former.server_drops
            view.provider, view.codec, view.ask = former.provider, former.codec, former.ask
        if state is not None:
            summary = state.get("compaction", {}).get("summary")
            self.record = from_plain(summary) if summary else None
            if self.record is not None and self.record.summary is not None:
                self.mirror.remember_record(self.record.content, self.record.summary)
        self.view, self._has_view = view, True

    @property
    def lock(self) -> Any:
        """What keeps other threads from reading another list, as a context manager."""
        return self._threads

    def _beside(self, system_prompt: str | None, tools: Any) -> dict[str, Any]:
        """Return what is sent besides the items, as a View measures it, as far as it is passed."""
        cache = self._tools
        if tools is not None and tools != cache[0]:
            self._tools = cache = tools, tools_as_one(tools)
        prompt = {} if system_prompt is None else {"system_prompt": system_prompt}
        return prompt if tools is None else {**prompt, "tools": cache[1]}

    def _prepare_sync(
        self,
        items: Sequence[Any],
        system_prompt: str | None,
        tools: Any,
        refusal: SizeRefusal | None,
    ) -> Prepared | None:
        self._read(items)
        messages, latest = self.mirror.messages, self.latest
        beside = self._beside(system_prompt, tools)
        if refusal is not None and latest is not None:
            beside |= {"kind": refusal.kind, "limit": refusal.limit}
            return self.view.shrink_sync(latest.messages, history=messages, **beside)
        return self.view.prepare_sync(messages, **beside)

    def _read(self, items: Sequence[Any], like: Sequence[Unit] | None = None) -> None:
        _check_list(items)
        self.mirror.read(items, self.mirror.items_before(self.view.covered), like=like)
        if self._check is not None:
            self._check()

    async def _read_async(self, items: list[Any], size: int) -> tuple[list[Message], list[Unit]]:
        try:
            return await off_loop(size, self._read_messages, items)
        except RuntimeError:
            # The owner has changed an item while it was read in the thread.
            return self._read_messages(items)

    def _read_messages(self, items: list[Any]) -> tuple[list[Message], list[Unit]]:
        """Read a list, and return copies: another list may be read meanwhile."""
        with self._threads:
            self._read(items)
            return self.mirror.messages.copy(), list(self.mirror.units)

    def _read_again(self, items: list[Any], units: list[Unit]) -> None:
        """Read a list if another call has read another one meanwhile, or made other messages."""
        if not (are_same(items, self.mirror.items) and are_same(units, self.mirror.units)):
            self._read(items, units)

    def _write_prepared(
        self,
        items: list[Any],
        units: list[Unit],
        request: Prepared | None,
        refusal: SizeRefusal | None,
    ) -> list[Any]:
        with self._threads:
            self._read_again(items, units)
            return self._written(self._take(request, refusal))

    def _rewrite_prepared(
        self, items: list[Any], units: list[Unit], request: Prepared
    ) -> list[Any] | None:
        with self._threads:
            self._read_again(items, units)
            return self._rewritten(self._take(request))

    def _rewritten(self, request: Prepared) -> list[Any] | None:
        # The next request extends this one, of which nothing was written.
        self._is_unwritten |= not request.extends
        # Only a compaction is stored, not what strategies and the window cut.
        return self.mirror.rewrite(request.history) if self.view.covered else None

    def _take(self, request: Prepared | None, refusal: SizeRefusal | None = None) -> Prepared:
        if request is None:
            if refusal is not None and refusal.kind != "tokens":
                raise refusal.as_error(self.name)
            former_tokens = None if self.latest is None else self.latest.tokens
            raise ContextOverflow(self.name, former_tokens, self.view.policy.context_window or None)
        self.latest = request
        log_notes(_log, request)
        return request

    def _written(self, request: Prepared) -> list[Any]:
        request = attrs.evolve(request, extends=False) if self._is_unwritten else request
        self._is_unwritten = False
        if self._write is not None:
            return self._write(request)
        return self.mirror.write(request.messages, extends=request.extends)


def _same_or(items: Sequence[Any], result: list[Any]) -> list[Any]:
    """Return the owner's list itself if it is sent unchanged."""
    return items if isinstance(items, list) and are_same(items, result) else result


def _check_list(items: object) -> None:
    """Raise unless this is a list of somebody else's items.

    Raises:
        ConfigError: a single item, a text, or Messages of this package.
    """
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        remedy = "put it in a list, in the provider's form"
        raise ConfigError("messages", items, "a list of messages", remedy)
    if items and isinstance(items[0], Message):
        remedy = "pass Message objects to context.view.View"
        raise ConfigError("messages", items[0], "dicts or an SDK's objects", remedy)


def _check_state(state: Any) -> Mapping[str, Any]:
    view = state.get("view") if isinstance(state, Mapping) else None
    if not isinstance(view, Mapping) or state.get("v") != _VERSION:
        requirement = f"what state() returned, of version {_VERSION}"
        raise ConfigError("state", state, requirement, "leave it out")
    return view
