import attrs
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import Message, from_plain, to_plain
from agentic.messages._timeline import RecentConversations, continues
from agentic.testing import conversations


@attrs.define(eq=False)
class _Known:
    messages: list[Message]


@given(messages=conversations(), data=st.data())
def test_conversation_continues_each_of_its_beginnings(
    messages: list[Message], data: st.DataObject
) -> None:
    """And none that is longer than itself."""
    cut = data.draw(st.integers(0, len(messages)))

    assert continues(messages, messages[:cut])
    assert continues(messages[:cut], messages) is (cut == len(messages))


@given(messages=conversations())
def test_equal_messages_are_the_same_conversation(messages: list[Message]) -> None:
    """Messages rebuilt from a store are recognized."""
    rebuilt = [from_plain(to_plain(message)) for message in messages]

    assert continues(rebuilt, messages)


@given(messages=conversations(), data=st.data())
def test_a_change_anywhere_makes_another_conversation(
    messages: list[Message], data: st.DataObject
) -> None:
    """An edited message is noticed, wherever it stands."""
    at = data.draw(st.integers(0, max(0, len(messages) - 1)))
    edited = [m.replace(id="edited") if i == at else m for i, m in enumerate(messages)]

    assert continues(edited, messages) is (not messages)


def test_several_conversations_take_turns() -> None:
    """Each finds what is known of it, though others were seen in between."""
    recent: RecentConversations[_Known] = RecentConversations()
    known = [_Known([Message("user", str(number))]) for number in range(4)]
    for one in known:
        recent.add(one)

    for one in known:
        assert recent.find([*one.messages, Message("assistant", "Yes.")]) is one


def test_longest_unseen_conversation_is_forgotten() -> None:
    """What is remembered is bounded, and finding counts as seeing."""
    recent: RecentConversations[_Known] = RecentConversations()
    known = [_Known([Message("user", str(number))]) for number in range(5)]
    for one in known[:4]:
        recent.add(one)
    recent.find(known[0].messages)

    recent.add(known[4])

    assert [one for one in known if recent.find(one.messages) is None] == [known[1]]


def test_nothing_is_known_of_a_stranger() -> None:
    """An empty conversation continues everything and is therefore nobody's beginning."""
    recent: RecentConversations[_Known] = RecentConversations()
    recent.add(_Known([]))

    assert recent.find([Message("user", "Why?")]) is None
    assert recent.find([]) is None
