"""Requests only grow until an epoch begins, and then stale reasoning is left out."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import Prepared, View
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

_COUNTER = CharCounter(1.0)
_BOUND = "claude-fable-5-2"
_CHAINS: list[list[Any]] = [
    [],
    [strategies.TrimRounds(2)],
    [strategies.ClearToolOutputs(600, _COUNTER, min_tokens=1)],
    [strategies.FitContextWindow(900, _COUNTER)],
    [strategies.TruncateToolOutputs(50), strategies.KeepLast(6)],
    [lambda messages: messages[-5:]],
]


def _reply(text: str, calls: Sequence[ToolCall] = (), *, number: int = 0) -> Message:
    payload = {"role": "assistant", "signature": number}
    native = ProviderPayload("elsewhere", payload)
    return Message("assistant", text, tool_calls=calls, native=native)


def _turn(number: int, rounds: int = 1) -> list[Message]:
    turn = [Message("user", f"Request {number}: " + "please " * 10)]
    for at in range(rounds):
        call = ToolCall(f"c{number}_{at}", "read", f'{{"path": "f{number}.py"}}')
        output = f"line of f{number}\n" * 8
        turn += [
            _reply(f"Let me read {number}.", [call], number=number),
            Message("tool", tool_results=[ToolResult(call.id, "read", output)]),
        ]
    return [*turn, _reply(f"Answer {number}.", number=number)]


def _talk(turns: int, rounds: int = 1) -> list[Message]:
    return [message for number in range(turns) for message in _turn(number, rounds)]


def _view(chain: Sequence[Any] = (), window: int = 2_000, **options: Any) -> View:
    options = {"model": _BOUND, "server_drops": True, **options}
    digest = Digest(max_tokens=300, counter=_COUNTER)
    policy = options.pop("policy", Policy(window))
    return View(policy, counter=_COUNTER, compactor=digest, strategies=chain, **options)


def _requests(history: Sequence[Message]) -> list[int]:
    """Return how long the history is at each request: before each reply."""
    return [at for at, message in enumerate(history) if message.role == "assistant"]


def _sent(message: Message) -> Any:
    """Return what the model can tell of a message, by its JSON form and not by ours."""
    without = message.native is not None and message.native.without_reasoning
    results = [(result.call_id, result.text) for result in message.tool_results]
    calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    return message.role, message.content, calls, results, without


@pytest.mark.parametrize("chain", _CHAINS)
def test_requests_grow_between_epochs(chain: list[Any]) -> None:
    """What is not announced as a change is not one."""
    view, history = _view(chain), _talk(40)
    before: list[Any] = []
    epochs = 0

    for length in _requests(history):
        prepared = view.prepare_sync(history[:length])
        sent = list(map(_sent, prepared.messages))
        assert prepared.fits
        assert prepared.extends == (sent[: len(before)] == before)
        assert bool(prepared.changes) != prepared.extends
        epochs += not prepared.extends
        before = sent

    assert 0 < epochs < len(_requests(history)) / 2


def test_strategy_waits_until_it_pays() -> None:
    """Until then a request may show more than the strategy keeps."""
    view, history = _view([strategies.TrimRounds(1)], window=100_000), _talk(30)
    counts = []

    for length in _requests(history):
        prepared = view.prepare_sync(history[:length])
        if prepared.changes:
            assert prepared.changes == ("cleared",)
        counts.append(sum(bool(message.tool_calls) for message in prepared.messages))

    assert max(counts) > 3
    assert min(counts[10:]) == 1


def test_without_epochs_strategies_are_applied_at_once() -> None:
    """As a caller may want who pays for no cache."""
    policy = Policy(100_000, epochs=False)
    view, history = _view([strategies.TrimRounds(1)], policy=policy), _talk(30)

    for length in _requests(history):
        prepared = view.prepare_sync(history[:length])
        assert sum(bool(message.tool_calls) for message in prepared.messages) <= 1


def test_running_turn_without_reasoning_waits_for_nothing() -> None:
    """An agent that works alone has one long turn, and most models bind nothing."""
    view, history = _view([strategies.TrimRounds(1)], window=100_000, model=""), _turn(0, 40)
    counts = []

    for length in _requests(history):
        prepared = view.prepare_sync(history[:length])
        counts.append(sum(bool(message.tool_calls) for message in prepared.messages))

    assert max(counts) < 20


def test_without_a_window_a_request_at_most_doubles() -> None:
    """Nothing else says how much may be carried, even where a running turn has reasoning."""
    chain = [strategies.KeepLast(6)]
    view = View(Policy(0), strategies=chain, model=_BOUND, server_drops=True)
    history = _turn(0, 40)

    for length in _requests(history):
        sent = view.prepare_sync(history[:length]).messages
        alone = strategies.KeepLast(6).compact(history[:length])
        sizes = [sum(len(each.content) + 200 for each in some) for some in (sent, alone)]
        assert sizes[0] <= 2.5 * sizes[1]


def test_gain_makes_epochs_begin_sooner() -> None:
    """Each epoch writes the kept part again, so that their number is what the gain is about."""

    def epochs(gain: float) -> int:
        policy = Policy(100_000, epoch_gain=gain)
        view, history = _view([strategies.TrimRounds(2)], policy=policy), _talk(40)
        return sum(not view.prepare_sync(history[:length]).extends for length in _requests(history))

    assert epochs(0.2) < epochs(1.0) < epochs(10.0)


def test_expired_cache_makes_an_epoch_free() -> None:
    """All of it has to be written again anyway."""
    view, history = _view([strategies.TrimRounds(1)], window=100_000), _talk(6)
    *lengths, last = _requests(history)
    for length in lengths:
        assert view.prepare_sync(history[:length]).extends

    # A request that begins a turn: a running turn keeps its reasoning.
    history = [*history, Message("user", "And now?")]
    prepared = view.prepare_sync(history, idle_seconds=3_600)

    assert prepared.changes == ("cleared",)
    assert last


def test_changed_tools_and_prompt_are_named() -> None:
    """Both are at the start of a request, so nothing of it is reused."""
    view, history = _view(), _talk(3)
    tool = ToolDefinition("read", "Read a file.")
    view.prepare_sync(history[:1], system_prompt="Be brief.", tools=[tool])

    longer = ToolDefinition("read", "Read a file, whole.")
    tools = view.prepare_sync(history[:3], system_prompt="Be brief.", tools=[longer])
    prompt = view.prepare_sync(history[:3], system_prompt="Be long.", tools=[longer])

    assert (tools.extends, tools.reused_tokens, tools.changes) == (False, 0, ("tools_changed",))
    assert (prompt.extends, prompt.changes) == (False, ("system_changed",))


def test_reused_tokens_are_those_in_front() -> None:
    """Of an edit in the middle, what precedes it is still in the cache."""
    view, history = _view(window=100_000), _talk(3)
    view.prepare_sync(history[:9])
    edited = [*history[:4], Message("user", "Something else."), *history[5:9]]

    prepared = view.prepare_sync(edited)

    assert prepared.changes == ("owner_edited",)
    assert prepared.reused_tokens == sum(
        _COUNTER.count(message.content)
        + sum(_COUNTER.count(call.name + call.arguments) for call in message.tool_calls)
        + sum(_COUNTER.count(result.text) for result in message.tool_results)
        + 4
        for message in history[:4]
    )


class _Oracle:
    """Knows of each reply the whole request that it was made for, as lists."""

    def __init__(self) -> None:
        self.made: dict[int, list[Any]] = {}
        self.dropped: set[int] = set()
        """What the server drops until the epoch ends: it began in the middle of a turn."""
        self.uncertain: set[int] = set()
        """Replies in a list that was changed after a restart, before the View saw it again: it
        cannot know what precedes them, and may leave out what is valid."""

    def check(self, prepared: Prepared, *, running: bool) -> None:
        prefix: list[Any] = []
        turn = max(i for i, m in enumerate(prepared.messages) if m.role == "user")
        if not prepared.extends:
            late = prepared.messages[turn + 1 :] if running else []
            self.dropped = {id(each.native.payload) for each in late if each.native}
        for at, message in enumerate(prepared.messages):
            if message.role == "assistant" and message.native is not None:
                number = id(message.native.payload)
                valid = self.made.get(number) == prefix
                sent = not message.native.without_reasoning
                tolerated = number in (self.dropped if sent else self.uncertain)
                assert sent == valid or tolerated, (at, message.content)
            prefix.append(_sent(message)[:4])

    def note(self, prepared: Prepared, reply: Message) -> None:
        assert reply.native is not None
        self.made[id(reply.native.payload)] = [_sent(each)[:4] for each in prepared.messages]


_STEPS = st.lists(
    st.one_of(
        st.just(("turn", 0)),
        st.just(("rounds", 0)),
        st.tuples(st.just("rewind"), st.integers(1, 6)),
        st.tuples(st.just("edit"), st.integers(0, 30)),
        st.just(("restart", 0)),
    ),
    max_size=25,
)
_STALE_IN_STATE = [*7 * [("turn", 0)], ("restart", 0), ("turn", 0), ("rewind", 1)]
"""The state is one of an epoch that began in a turn, whose stale reasoning the server dropped."""


@given(steps=_STEPS, chain=st.sampled_from(_CHAINS[:-1]), drops=st.booleans())
@example(steps=_STALE_IN_STATE, chain=[], drops=True)
@settings(max_examples=60, deadline=None)
def test_no_stale_reasoning_is_sent_and_none_is_lost(
    steps: list[tuple[str, int]], chain: list[Any], *, drops: bool
) -> None:
    """Whatever happens to the list; a restart goes on from the state."""
    view, history, oracle = _view(chain, server_drops=drops), [], _Oracle()
    restarted = False

    def ask(reply: Message) -> None:
        nonlocal restarted
        restarted = False
        prepared = view.prepare_sync(history)
        oracle.check(prepared, running=drops)
        oracle.note(prepared, reply)
        history.append(reply)

    for number, (name, amount) in enumerate([*steps, ("turn", 0), ("turn", 0)]):
        if name in {"turn", "rounds"}:
            user, *rest = _turn(number, 1 if name == "turn" else 4)
            history.append(user)
            for message in rest:
                ask(message) if message.role == "assistant" else history.append(message)
            continue
        if restarted:
            oracle.uncertain |= {id(each.native.payload) for each in history if each.native}
        if name == "rewind":
            turns = [at for at, message in enumerate(history) if message.role == "user"]
            del history[turns[-min(amount, len(turns))] if turns else 0 :]
        elif name == "edit" and history:
            at = amount % len(history)
            if history[at].role == "user":
                history[at] = Message("user", f"Edited {number}.")
        elif name == "restart":
            state = json.loads(json.dumps(view.state()))
            view, restarted = _view(chain, server_drops=drops, state=state), True


@given(turns=st.integers(2, 30), at=st.integers(0, 80), chain=st.sampled_from(_CHAINS[:-1]))
@settings(max_examples=40, deadline=None)
def test_a_cold_view_sends_the_same(turns: int, at: int, chain: list[Any]) -> None:
    """A View made from the state of another one goes on as that one would have."""
    history = _talk(turns)
    warm = _view(chain)
    lengths = _requests(history)
    stop = lengths[at % len(lengths)]
    for length in lengths:
        if length <= stop:
            warm.prepare_sync(history[:length])
    cold = _view(chain, state=json.loads(json.dumps(warm.state())))

    for length in lengths:
        if length > stop:
            one, other = (view.prepare_sync(history[:length]) for view in (warm, cold))
            assert list(map(_sent, one.messages)) == list(map(_sent, other.messages))
            assert (one.extends, one.changes) == (other.extends, other.changes)
            assert _explained(warm) == _explained(cold)


def test_running_turn_becomes_text_where_nothing_is_dropped() -> None:
    """A model may ask for all reasoning of a running turn, and refuse what is stale."""
    view, history = _view(server_drops=False), _turn(0, rounds=40)

    for length in _requests(history):
        prepared = view.prepare_sync(history[:length])
        if not prepared.extends:
            assert not any(message.tool_calls for message in prepared.messages)
            assert prepared.messages[-1].role == "user"
            assert "line of f0" in prepared.messages[-1].content


@given(
    window=st.integers(1_000, 4_000),
    rounds=st.integers(5, 30),
    compacts=st.booleans(),
    refused=st.integers(0, 60),
    restart=st.integers(0, 60),
)
@settings(max_examples=40, deadline=None)
def test_running_turn_as_text_leaves_the_request(
    window: int, rounds: int, refused: int, restart: int, *, compacts: bool
) -> None:
    """It is cut as rounds: as one message of the user's it would be kept instead of the request."""
    options: dict[str, Any] = {"counter": _COUNTER, "model": _BOUND}
    if compacts:
        options["compactor"] = Digest(max_tokens=100, counter=_COUNTER)
    view, history = View(Policy(window), **options), [*_talk(2), *_turn(7, rounds)]

    for length in _requests(history):
        request = next(m for m in reversed(history[:length]) if m.role == "user")
        prepared = view.prepare_sync(history[:length])
        if length == restart:
            cold = View(Policy(window), state=json.loads(json.dumps(view.state())), **options)
            again = cold.prepare_sync(history[:length])
            assert list(map(_sent, again.messages)) == list(map(_sent, prepared.messages))
            assert again.extends
            assert _explained(cold) == _explained(view)
        if length == refused:
            smaller = view.shrink_sync(prepared.messages)
            prepared = smaller or prepared
        assert [each.content for each in prepared.messages].count(request.content) == 1


def _explained(view: View) -> list[tuple[Any, ...]]:
    return [(each.part, each.positions, each.shortened) for each in view.explain()]


def test_other_models_keep_their_reasoning() -> None:
    """Some of them ask for it, and none of them looks at what precedes it."""
    view, history = _view(model="claude-sonnet-4-5"), _talk(30)

    for length in _requests(history):
        messages = view.prepare_sync(history[:length]).messages
        assert not any(each.native and each.native.without_reasoning for each in messages)


@pytest.mark.parametrize(("mode", "model"), [("keep", _BOUND), ("strip", "claude-sonnet-4-5")])
def test_owner_decides_on_reasoning(mode: Any, model: str) -> None:
    """Whatever the model is."""
    view, history = _view(model=model, reasoning=mode), _talk(30)
    left_out = 0

    for length in _requests(history):
        messages = view.prepare_sync(history[:length]).messages
        left_out += sum(bool(each.native and each.native.without_reasoning) for each in messages)

    assert bool(left_out) == (mode == "strip")


def test_first_sight_relies_on_the_server() -> None:
    """Where it drops nothing, only the running turn's reasoning is sent."""
    history = [*_talk(2), *_turn(9, rounds=2)[:-1]]

    trusting = _view(window=100_000).prepare_sync(history)
    cautious = _view(window=100_000, server_drops=False).prepare_sync(history)

    def kept(prepared: Prepared) -> list[int]:
        return [
            at
            for at, each in enumerate(prepared.messages)
            if each.native and not each.native.without_reasoning
        ]

    replies = _requests(history)
    assert kept(trusting) == replies
    assert kept(cautious) == replies[-2:]


def test_reply_before_a_restart_and_an_edit_is_stale() -> None:
    """It was made for the last request of the former process, which is not sent again."""
    view, history = _view(), _turn(0)
    for length in _requests(history):
        view.prepare_sync(history[:length])
    again = _view(state=json.loads(json.dumps(view.state())))
    edited = [Message("user", "Another request."), *history[1:], Message("user", "And now?")]

    sent = again.prepare_sync(edited).messages

    assert all(each.native.without_reasoning for each in sent if each.native)


def test_a_state_of_the_former_version_is_read() -> None:
    """It has no epoch; what a compaction kept is stale all the same."""
    view, history = _view(), _talk(30)
    for length in _requests(history):
        view.prepare_sync(history[:length])
    state = view.state()
    del state["epoch"]

    prepared = _view(state=json.loads(json.dumps(state))).prepare_sync(history)

    assert prepared.fits
    assert prepared.messages[0].summary is not None
