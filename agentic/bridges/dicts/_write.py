"""From the messages of a View to the items of a request: the owner's, and new ones between them.

If none of an item's messages was changed, it is sent as the owner's own object. What was edited,
made up or summarized is encoded by the wire's adapter, together with the messages that it belongs
to.
"""

import copy
import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import attrs

from agentic.bridges.dicts._items import ItemMirror
from agentic.bridges.kit._forms import copy_json
from agentic.bridges.kit._runs import answer_each_call, find_ends
from agentic.bridges.kit._units import Unit
from agentic.messages import Message
from agentic.messages._rounds import reopen_rounds
from agentic.providers.kit import Adapter, RequestForm, at, items_at, plain
from agentic.providers.kit._messages import answer_each_reply
from agentic.providers.kit._record import RecordRole, move_record

_GO_ON = Message("user", "Continue.")
_UNDERSTOOD = Message("assistant", "Understood.")
_SYSTEM = {"system", "developer"}
_SAID = 3
"""The texts of a summary message and of a filler for either role."""


@attrs.frozen(eq=False)
class _Placed:
    """An item of a request."""

    item: Any
    position: int | None = None
    """Its position in the owner's list; None for an item of ours."""
    is_joined: bool = False
    """Whether it belongs to the same round as the item before it: nothing may part the two."""


@attrs.frozen(eq=False)
class _Encoded:
    """What was encoded for some messages of a request.

    Which of the items are the owner's is kept by message: the owner's list may gain or lose items
    before them, so that a position holds for a single request.
    """

    messages: list[Message]
    owned: tuple[bool, ...]
    """Whether each message, or a result in it, was one of the owner's items."""
    items: list[tuple[Any, tuple[Message, int] | None]]
    """Each item; if it is the owner's, with a message of its unit and its place in the unit."""

    def place(self, mirror: ItemMirror) -> Iterator[_Placed]:
        """Yield the items with their positions in the owner's list as it is now."""
        for item, source in self.items:
            unit = None if source is None else mirror.find_source(source[0])
            if source is None or unit is None:
                # The caller may change what it sends, and the same encoded item is sent again.
                yield _Placed(copy.deepcopy(item))
            else:
                position = unit.start + source[1]
                yield _Placed(mirror.sent_item(position), position)


def describe_tools(tools: Any) -> str:
    """Return the tools of a request as the JSON text that is sent."""
    # default: Google's SDK takes functions as tools, and JSON has no form for them.
    return json.dumps(plain(tools), ensure_ascii=False, default=str) if tools else ""


@attrs.define(eq=False)
class RequestWriter:
    """Writes the requests of one conversation."""

    wire: Adapter
    form: RequestForm
    record_role: RecordRole = "user"
    _before: dict[tuple[int, ...], _Encoded] = attrs.field(factory=dict, init=False)
    """What was encoded for the latest request, by the object ids of its messages."""
    _said: dict[tuple[Any, ...], Any] = attrs.field(factory=dict, init=False)
    """The latest few items of ours, by what they say."""
    _parting: dict[int, Message] = attrs.field(factory=dict, init=False)
    """What was put before the items of the latest request, by their positions in it.

    The owner's list may gain or lose an item that is not sent: then two items are neighbors no
    more, or only now. A request that extends the last one must not differ from it for that."""
    _length: int = attrs.field(default=0, init=False)
    """The number of items in the latest request, without those that part others."""
    _record_item: tuple[Message, Any] | None = attrs.field(default=None, init=False)
    """The latest record, and its item."""
    _sent_record: Any = attrs.field(default=None, init=False)
    """The item of the record in the latest request, unless it is the owner's."""

    def write(
        self,
        sent: list[Message],
        mirror: ItemMirror,
        *,
        strict_roles: bool = False,
        extends: bool = False,
    ) -> list[Any]:
        """Return the items for the messages of a request.

        With `strict_roles`, roles alternate wherever something was left out. If the request
        `extends` the last one, what was put between the items of that one stays where it was.
        """
        sent = move_record(sent)
        end, start = _untouched_end(sent, mirror)
        before = self._place(sent[:end], mirror)
        self._keep_parting(extends=extends)
        # The first unchanged item determines how the items before it must lead up to it. One more
        # than to the last place of `_parting`, because a record may be merged into an item.
        last = start + max(1, max(self._parting, default=-1) - len(before) + 2)
        ours = [unit.start for unit in mirror.words if unit.start >= start]
        # Our words in the owner's list are put in anew, where they are needed.
        last = max(last, *(each + 2 for each in ours[-1:]), last)
        own = [each for each in range(len(mirror.items))[start:last] if each not in ours]
        places = [*before, *(_Placed(mirror.sent_item(each), each) for each in own)]
        form = self.form
        if strict_roles:
            form = attrs.evolve(form, parts_replies=True, parts_users=True)
        if form.has_turns and form.parts_users and form.text_block is not None:
            places = self._merge_record(places, form.text_block)
        rest = mirror.sent_items(start + len(own) + len(ours))
        length = len(places) + len(rest)
        if form.has_turns:
            places = list(self._in_turns(places, form, mirror))
        self._length = length
        return [*(each.item for each in places), *rest]

    def copy(self) -> "RequestWriter":
        """Return a writer that goes on from the latest request, and leaves this one as it is."""
        writer = copy.copy(self)
        # The other fields are replaced, and never changed in place.
        writer._parting = self._parting.copy()  # noqa: SLF001  of this class
        return writer

    def write_all(self, mirror: ItemMirror, *, extends: bool) -> list[Any]:
        """Return the items of a request from which nothing is missing."""
        self._keep_parting(extends=extends)
        if self._parting or mirror.words or mirror.runs_end:
            return self.write(mirror.messages, mirror, extends=extends)
        self._length = len(mirror.items)
        return mirror.sent_items(0)

    def _keep_parting(self, *, extends: bool) -> None:
        if not extends:
            self._parting, self._length = {}, 0

    def _place(self, sent: list[Message], mirror: ItemMirror) -> list[_Placed]:
        places: list[_Placed] = []
        before, self._before = self._before, {}
        self._sent_record = None
        go_ons = 0
        for stretch in self._stretches(sent, mirror):
            start = len(places)
            units = _whole_units(stretch, mirror)
            if stretch[0] is _GO_ON:
                # Counted from the other end than the words that part items.
                go_ons -= 1
                places += map(_Placed, mirror.say(_GO_ON, go_ons, self._encode_one))
            elif units is not None:
                places += _joined(
                    _Placed(mirror.sent_item(each), each)
                    for unit in units
                    for each in unit.positions
                )
            elif stretch[0].summary is not None:
                places.append(self._record(stretch[0], mirror))
            else:
                key = tuple(map(id, stretch))
                own = tuple(mirror.find_source(each) is not None for each in stretch)
                parts = before.get(key)
                if parts is None or parts.owned != own:
                    # With the messages, so that no other object gets one of these ids.
                    parts = _Encoded(stretch, own, self._encode(stretch, mirror))
                self._before[key] = parts
                places += _joined(parts.place(mirror))
            if self.form.replies == "merged" and len(places) - start > 1:
                parts_users = self.form.parts_users
                places[start:] = _merge_run(stretch, places[start:], parts_users=parts_users)
        return places

    def _stretches(self, sent: list[Message], mirror: ItemMirror) -> Iterator[list[Message]]:
        """Yield what is encoded together, and a word of the user's where `find_ends` wants one."""
        stretches: Iterable[list[Message]] = _stretches(sent)
        places = mirror.places_of(sent)
        if self.form.replies == "answered":
            _, _, ends = answer_each_call(sent, places)
            stretches = map(answer_each_reply, stretches)
        else:
            ends = find_ends(sent, places)
        count = 0
        for stretch in stretches:
            part: list[Message] = []
            for message in stretch:
                part.append(message)
                count += 1
                if count in ends:
                    yield part
                    yield [_GO_ON]
                    part = []
            if part:
                yield part

    def _encode_one(self, message: Message) -> Sequence[Any]:
        return self.wire.encode([message])

    def _record(self, message: Message, mirror: ItemMirror) -> _Placed:
        """Return the record of earlier conversation as an item."""
        text = message.content
        if self.record_role == "system":
            unit = mirror.find_system(text)
            if unit is not None:
                return _Placed(mirror.items[unit.start], unit.start)
            return _Placed(self._say(Message("system", text, media=message.media)))
        # Written once: until the next summary, every request begins with it.
        if self._record_item is None or self._record_item[0] is not message:
            if message.summary is not None:
                mirror.remember_record(text, message.summary)
            item = self._say(attrs.evolve(message, role="user", native=None))
            self._record_item = message, item
        # A copy: the caller may change what it sends.
        self._sent_record = copy_json(self._record_item[1])
        return _Placed(self._sent_record)

    def _say(self, message: Message) -> Any:
        """Return a new item for a message of ours."""
        key = (message.role, message.content, message.media)
        if key not in self._said:
            for old in list(self._said)[:-_SAID]:
                del self._said[old]
            self._said[key] = self.wire.encode([message])[0]
        return copy.deepcopy(self._said[key])

    def _encode(
        self, stretch: list[Message], mirror: ItemMirror
    ) -> list[tuple[Any, tuple[Message, int] | None]]:
        """Encode messages that belong together, some of them new; reuse the owner's items."""
        if stretch[0].role == "system" and not self.form.has_system_role:
            stretch = [Message("user", message.content) for message in stretch]
        own = list(self._owners(stretch, mirror))
        parts: list[tuple[Any, tuple[Message, int] | None]] = []
        for item in self.wire.encode(stretch):
            match = next((n for n, (alone, _) in enumerate(own) if alone == item), None)
            if match is None:
                pieces = self._pieces(item, stretch, mirror)
                parts += pieces or [(item, None)]
                sources = {id(source[0]) for _, source in pieces if source is not None}
                own = [each for each in own if id(each[1][0]) not in sources]
                continue
            parts.append((item, own[match][1]))
            # Both are in the same order, so whatever was passed over has no match any more.
            del own[: match + 1]
        return parts

    def _owners(
        self, stretch: list[Message], mirror: ItemMirror
    ) -> Iterator[tuple[Any, tuple[Message, int]]]:
        """Yield what the adapter would write for the owner's items alone, with their places."""
        for unit in dict.fromkeys(filter(None, map(mirror.find_source, stretch))):
            alone = self.wire.encode(list(unit.messages))
            # Otherwise nothing tells which item is which of the owner's; and a call whose id the
            # adapter changes is answered by its new id.
            if alone == [plain(mirror.sent_item(each)) for each in unit.positions]:
                first = next(each for each in stretch if mirror.find_source(each) is unit)
                yield from ((item, (first, place)) for place, item in enumerate(alone))

    def _pieces(
        self, item: Any, stretch: list[Message], mirror: ItemMirror
    ) -> list[tuple[Any, tuple[Message, int] | None]]:
        """Return the items that the adapter joined to one, because they have the same role.

        Those that nobody edited are the owner's. The list is empty if the blocks are not theirs.
        """
        pieces: list[tuple[Any, tuple[Message, int] | None]] = []
        missing = _blocks(item)
        for unit, group in _by_unit(stretch, mirror):
            alone = self.wire.encode(group)
            blocks = _blocks(alone[0]) if len(alone) == 1 else []
            if not blocks or _role_of(alone[0]) != _role_of(item):
                continue
            if blocks != missing[: len(blocks)]:
                continue
            missing = missing[len(blocks) :]
            is_own = (
                unit is not None
                and _are_same(group, unit.messages)
                and alone == [plain(mirror.sent_item(each)) for each in unit.positions]
            )
            pieces.append((alone[0], (group[0], 0) if is_own else None))
        return [] if missing else pieces

    def _merge_record(self, places: list[_Placed], text_block: Mapping[str, str]) -> list[_Placed]:
        """Make the record the first block of a user's message that may not follow it."""
        own = (n for n, each in enumerate(places) if each.item is self._sent_record)
        place = next(own, len(places))
        if place + 1 >= len(places):
            return places
        record, item = places[place].item, places[place + 1].item
        if _role_of(item) != "user" or _has_results(item):
            return places
        blocks: list[Any] = []
        for content in (at(record, "content"), at(plain(item), "content")):
            is_text = isinstance(content, str)
            blocks += [{**text_block, "text": content}] if is_text else content or []
        union = {**plain(item), "content": blocks}
        together = attrs.evolve(places[place + 1], item=union)
        return [*places[:place], together, *places[place + 2 :]]

    def _in_turns(
        self, places: list[_Placed], form: RequestForm, mirror: ItemMirror
    ) -> Iterator[_Placed]:
        """Separate items that may not follow each other, if something between them was left out."""
        before: int | None = -1
        last = "assistant"  # the owner's list may begin with a reply, but ours may not
        is_start = True
        for number, each in enumerate(places):
            role, position = _role_of(each.item), each.position
            # Neighbors in the owner's list may follow each other: they have been sent so before.
            is_seam = position is None or before is None or position != before + 1
            if number >= self._length and not each.is_joined:
                stands_first = is_start and _is_compaction(each.item)
                parts = (form.parts_replies or is_start) and not stands_first
                if is_seam and role == last == "assistant" and parts:
                    self._parting[number] = _GO_ON
                elif is_seam and role == last == "user" and form.parts_users:
                    self._parting[number] = _UNDERSTOOD
            if number in self._parting:
                message = self._parting[number]
                counts = Counter(self._parting[n].content for n in self._parting if n < number)
                words = mirror.say(message, counts[message.content], self._encode_one)
                yield _Placed(words[0])
            yield each
            before = position
            # The turns begin behind the system messages at the start.
            is_start = is_start and role in _SYSTEM
            last = last if is_start else role


def _joined(places: Iterable[_Placed]) -> Iterator[_Placed]:
    """Yield the items of one round."""
    for number, each in enumerate(places):
        yield attrs.evolve(each, is_joined=True) if number else each


def _merge_run(
    stretch: list[Message], placed: list[_Placed], *, parts_users: bool
) -> Iterator[_Placed]:
    """Yield the items of a round with its replies as one; its results then, too.

    Replies without calls follow each other only if they do so in the owner's list.
    """
    has_calls = any(message.tool_calls for message in stretch)
    last, end, joins_results = placed[0], placed[0].position, parts_users and has_calls
    for each in placed[1:]:
        is_seam = end is None or each.position != end + 1
        end = each.position
        joins = has_calls or is_seam
        if _role_of(each.item) != "assistant":
            joins = joins_results
        if joins and _role_of(last.item) == _role_of(each.item):
            last = attrs.evolve(last, item=_together(last.item, each.item))
            joins_results = True
        else:
            yield last
            last = each
    yield last


def _together(one: Any, other: Any) -> dict[str, Any]:
    """Return an item with the blocks of two."""
    item = dict(plain(one))
    key = "parts" if "parts" in item else "content"
    return {**item, key: [*items_at(item, key), *_blocks(plain(other))]}


def _by_unit(
    stretch: list[Message], mirror: ItemMirror
) -> Iterator[tuple[Unit | None, list[Message]]]:
    """Yield the messages of each unit, and each edited one; what was made up joins the one before.

    Older versions of Converse reject two user messages in a row, unless they are the owner's.
    """
    group: list[Message] = []
    last: Unit | None = None
    for message in stretch:
        unit = mirror.find_source(message)
        made_up = [message] != reopen_rounds([message]) and group and group[-1].role == "tool"
        if group and not made_up and (unit is None or unit is not last):
            yield last, group
            group = []
        last = unit
        group.append(message)
    if group:
        yield last, group


def _are_same(some: Sequence[Message], others: Sequence[Message]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _blocks(item: Any) -> list[Any]:
    """Return the blocks of an item, in wires whose items have several."""
    return items_at(item, "content") or items_at(item, "parts")


def _is_compaction(item: Any) -> bool:
    """Return whether an item holds a provider's own compaction, which has to come first."""
    blocks = items_at(plain(item), "content")
    return any(isinstance(block, dict) and block.get("type") == "compaction" for block in blocks)


def _has_results(item: Any) -> bool:
    return any(at(block, "toolResult") for block in items_at(plain(item), "content"))


def _untouched_end(sent: list[Message], mirror: ItemMirror) -> tuple[int, int]:
    """Return where the unchanged newest messages of a view begin, and where their items begin."""
    messages = mirror.messages
    pairs = map(operator.is_, reversed(sent), reversed(messages))
    length = sum(takewhile(bool, pairs))
    offset = len(sent) - len(messages)
    for position in range(max(len(messages) - length, mirror.runs_end), len(messages)):
        unit = mirror.find(messages[position])
        # Neither an item nor a stretch that is encoded together may be cut in two here.
        starts_unit = unit is not None and unit.first == position
        place = position + offset
        # What is before it in the request: in the list it may be a result that is not sent.
        if starts_unit and (not place or _begins(sent[place], sent[place - 1])):
            return place, mirror.items_before(position)
    return len(sent), len(mirror.items)


def _stretches(sent: list[Message]) -> Iterator[list[Message]]:
    """Split a view into stretches that are encoded together: rounds, which a view never breaks."""
    stretch: list[Message] = []
    for message in sent:
        if stretch and _begins(message, stretch[-1]):
            yield stretch
            stretch = []
        stretch.append(message)
    if stretch:
        yield stretch


def _begins(message: Message, before: Message) -> bool:
    if message.role == "assistant":
        return before.role != "assistant"
    if message.role == "tool":
        return before.role not in {"assistant", "tool"}
    # The words next to results are of the same item.
    joins = message.native is not None and message.native.joins_previous
    return not (joins and before.role == "tool")


def _whole_units(stretch: list[Message], mirror: ItemMirror) -> list[Unit] | None:
    """Return the units that a stretch consists of; None if a message in it is not the owner's."""
    units: list[Unit] = []
    position = 0
    while position < len(stretch):
        unit = mirror.find(stretch[position])
        if unit is None:
            return None
        for message in unit.messages:
            if position >= len(stretch) or stretch[position] is not message:
                return None
            position += 1
        units.append(unit)
    return units


def _role_of(item: Any) -> str:
    """Return `assistant` or another role of an item, whatever its wire and its form."""
    role = item.get("role") if isinstance(item, dict) else getattr(item, "role", None)
    return "assistant" if role in {"assistant", "model"} else str(role or "user")
