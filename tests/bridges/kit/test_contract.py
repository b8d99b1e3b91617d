"""Our own bridges keep the contract of a bridge, and the contract finds the ones that do not."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.bridges.kit import ListView
from agentic.context.budget import Policy
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, cohere, openai_chat, openai_responses
from agentic.testing import check_bridge
from agentic.tokens import CharCounter


def turn(number: int) -> list[Message]:
    """Return a turn of 60 words."""
    call = f"c{number}"
    return [
        Message("user", f"u{number} " + "please " * 12),
        Message("assistant", tool_calls=[ToolCall(call, "read", f'{{"n": {number}}}')]),
        Message("tool", tool_results=[ToolResult(call, "read", f"r{number} " + "line " * 20)]),
        Message("assistant", f"a{number} " + "done " * 12),
    ]


def policy(window: int) -> Policy:
    """Return a policy that keeps little."""
    return Policy(window, min_recent_messages=3)


@pytest.mark.parametrize("wire", [openai_chat, openai_responses, anthropic, cohere])
def test_dicts_keep_the_contract(wire: ModuleType) -> None:
    """On wires that have items for results, and on one that has them in the user's."""

    def make(window: int, **options: Any) -> Conversation:
        return Conversation(wire, policy(window), **options)

    def edit(item: Any, text: str) -> None:
        item["content"] = text

    check_bridge(
        make,
        lambda number: list(wire.encode(turn(number))),
        lambda item: wire.decode([item]),
        edit=edit,
    )


def _form(module: str, name: str, package: str) -> Any:
    pytest.importorskip(package)
    return getattr(importlib.import_module(module), name)()


@pytest.mark.parametrize(
    ("module", "name", "package", "edit"),
    [
        (
            "agentic.bridges.langchain._conversation",
            "LangchainForm",
            "langchain_core",
            lambda item, text: setattr(item, "content", text),
        ),
        (
            "agentic.bridges.pydantic_ai._form",
            "PydanticForm",
            "pydantic_ai",
            lambda item, text: setattr(item.parts[0], "content", text),
        ),
    ],
)
def test_frameworks_keep_the_contract(
    module: str, name: str, package: str, edit: Callable[[Any, str], None]
) -> None:
    """As their own objects, which are edited in place."""
    form = _form(module, name, package)

    def read(item: Any) -> list[Message]:
        if hasattr(form, "read"):
            return list(form.read(item))
        return [message for group in form.read_group([item], 0) for message in group.messages]

    check_bridge(
        lambda window, **options: ListView(form, policy(window), **options),
        lambda number: [item for message in turn(number) for item in form.write(message)],
        read,
        edit=edit,
    )


@attrs.define
class Item:
    """A foreign item."""

    message: Message


class Unable:
    """A compactor that never writes a summary."""

    async def compact(self, messages: list[Message], /) -> str:
        """Fail."""
        raise OSError("no model")


def test_request_after_a_rewrite_begins_with_the_user() -> None:
    """Also if nothing was summarized, and the window is kept by leaving out rounds."""
    view = ListView(ItemsOfMessages(), policy(700), compactor=Unable(), counter=CharCounter())
    items: list[Item] = []
    for number in range(12):
        for message in turn(number):
            items.append(Item(message))
            if message.role != "assistant":
                view.rewrite(items)
                sent = view.fit(items)
                assert sent[0].message.role == "user"

    assert len(sent) < len(items)


class ItemsOfMessages:
    """A form that keeps a message in an item."""

    def read(self, item: Item, /) -> list[Message]:
        """Return the message."""
        return [item.message]

    def write(self, message: Message, /) -> list[Item]:
        """Return an item."""
        return [Item(message)]


def check(make: Callable[..., Any]) -> None:
    """Check a bridge for items of messages."""

    def edit(item: Item, text: str) -> None:
        item.message = item.message.replace(content=text)

    check_bridge(
        make,
        lambda number: list(map(Item, turn(number))),
        lambda item: [item.message],
        edit=edit,
    )


@attrs.define
class _Wrapped:
    view: ListView

    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        return self.view.fit(items, refused=refused)

    async def fit_async(self, items: Any, *, refused: bool = False) -> list[Any]:
        return await self.view.fit_async(items, refused=refused)

    def state(self) -> dict[str, Any]:
        return self.view.state()


class _Shortens(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        sent = super().fit(items, refused=refused)
        return sent if sent is items else [*sent[:-2], sent[-1]]


class _Forgets(_Wrapped):
    def state(self) -> dict[str, Any]:
        return ListView(ItemsOfMessages(), policy(700)).state()


class _Changes(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        sent = super().fit(items, refused=refused)
        items[:] = sent
        return sent


class _Copies(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        return list(super().fit(items, refused=refused))


class _Repeats(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        return super().fit(items)


class _SendsAll(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        super().fit(items, refused=refused)
        everything: list[Any] = items
        return everything


class _CopiesTheNewest(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        sent = super().fit(items, refused=refused)
        return sent if sent is items else [*sent[:-1], Item(sent[-1].message)]


class _BeginsAnew(_Wrapped):
    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        self.view = attrs.evolve(self.view)
        return super().fit(items, refused=refused)


class _DropsWhenAwaited(_Wrapped):
    async def fit_async(self, items: Any, *, refused: bool = False) -> list[Any]:
        sent = await super().fit_async(items, refused=refused)
        return sent[:-1]


@attrs.define
class _KeepsTheFormer(_Wrapped):
    former: Any = None

    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        sent = super().fit(items, refused=refused)
        is_rewound = self.former is not None and self.former not in items
        request = [self.former, *sent] if is_rewound else sent
        self.former = items[-1] if len(items) > 20 and self.former is None else self.former
        return request


@attrs.define
class _KeepsTheText(_Wrapped):
    texts: dict[int, Item] = attrs.field(factory=dict)

    def fit(self, items: Any, *, refused: bool = False) -> list[Any]:
        if any(each.message.content == "edited in place" for each in items):
            items = [self.texts[id(each)] for each in items]
        self.texts |= {id(each): Item(each.message) for each in items}
        return super().fit(items, refused=refused)


def test_list_view_keeps_the_contract() -> None:
    """With the shortest form that there is."""
    check(lambda window, **options: ListView(ItemsOfMessages(), policy(window), **options))


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (_Shortens, "Each message is sent"),
        (_Forgets, "Another process that has the state"),
        (_Changes, "The owner's list has the same objects"),
        (_Copies, "A list that fits is sent as it is"),
        (_Repeats, "A request that was refused"),
        (_SendsAll, "were sent in a window of"),
        (_CopiesTheNewest, "The newest item after turn"),
        (_BeginsAnew, "The same list led to another request|It took"),
        (_DropsWhenAwaited, "`fit_async` sends what"),
        (_KeepsTheFormer, "Not in the list any more"),
        (_KeepsTheText, "The former text was sent"),
    ],
)
def test_a_broken_bridge_is_found(kind: type[_Wrapped], promise: str) -> None:
    """And the error quotes the promise."""

    def make(window: int, **options: Any) -> _Wrapped:
        return kind(ListView(ItemsOfMessages(), policy(window), **options))

    with pytest.raises(Exception, match=promise):
        check(make)
