"""An owner edits the list in the middle of a session with a server that binds reasoning.

The server knows nothing of ours: it judges pairs, roles and reasoning as the providers document it.
"""

import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from agentic.bridges.dicts import Conversation
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow
from agentic.testing import MODEL_WIRES, ModelServer, ScriptedAnswer
from agentic.tokens import CharCounter
from benchmarks.binding.dicts import CLIENTS, Client

_COUNTER = CharCounter()
_WINDOW = 3_000
_STRATEGIES: dict[str, Callable[[], list[Any]]] = {
    "none": list,
    "truncate": lambda: [strategies.TruncateToolOutputs(400)],
    "clear": lambda: [strategies.ClearToolOutputs(800, _COUNTER, keep_rounds=1, min_tokens=1)],
    "window": lambda: [strategies.FitContextWindow(1_500, _COUNTER)],
    "window with digest": lambda: [
        strategies.FitContextWindow(1_500, _COUNTER, digest=Digest(max_tokens=200))
    ],
    "trim": lambda: [strategies.TrimRounds(6)],
    "last": lambda: [strategies.KeepLast(11)],
    "importance": lambda: [strategies.Importance(min_score_threshold=0.2)],
}
_POLICIES = {
    "small": Policy(_WINDOW, min_recent_messages=3),
    "counting": Policy(_WINDOW, max_messages=12, min_recent_messages=4),
    "no epochs": Policy(_WINDOW, min_recent_messages=3, epochs=False),
    # Too large: only a refusal says how much the server takes.
    "wrong": Policy(4 * _WINDOW, min_recent_messages=3),
}
_SERVERS = {**{name: name for name in CLIENTS}, "qwen_chat": "openai_chat"}
"""The wires of the server, and the client that speaks each."""
_PLACES = st.floats(0, 1, exclude_max=True)
_THINKING = {"thinking", "reasoning", "reasoningContent", "redacted_thinking"}


class _Session(RuleBasedStateMachine):
    """A loop that somebody wrote, and what is done to its list."""

    served: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.client: Client = CLIENTS[_SERVERS[self.served]]
        self.items: list[Any] = []
        self.other: list[Any] = []
        self.sent: list[Any] = []
        self.number = 0
        self.next_calls = 0
        self.has_edits = False
        self.server = ModelServer(
            script=self._answer, window=_WINDOW, wires=[MODEL_WIRES[self.served]]
        )

    def _answer(self, _: Mapping[str, Any], /) -> ScriptedAnswer:
        self.number += 1
        paths = [f"p{self.number}_{place}" for place in range(self.next_calls)]
        return ScriptedAnswer(
            text=f"a{self.number} " + "so it is here " * 6,
            calls=tuple({"path": path} for path in paths),
            thinking=f"t{self.number}",
            thinking_tokens=60,
        )

    @initialize(
        policy=st.sampled_from(sorted(_POLICIES)), kind=st.sampled_from(sorted(_STRATEGIES))
    )
    def begin(self, policy: str, kind: str) -> None:
        """Choose how the conversation is kept short."""
        self.policy, self.kind = _POLICIES[policy], kind
        self.conversation = self._make(None)
        self._turn("Look at it.", [1])

    def _make(self, state: Any) -> Conversation:
        return Conversation(
            self.client.module,
            self.policy,
            compactor=Digest(max_tokens=250),
            strategies=_STRATEGIES[self.kind](),
            counter=_COUNTER,
            model=self.client.rest.get("model", ""),
            strict_roles=self.served == "qwen_chat" or None,
            state=state,
        )

    # What the owner does.

    @rule(calls=st.lists(st.integers(1, 3), max_size=3))
    def turn(self, calls: list[int]) -> None:
        """Ask, run the tools, ask again, until the model reports."""
        self._turn(f"u{self.number} please do more of it", calls)

    @rule(calls=st.integers(1, 3), answered=st.integers(0, 2))
    def interrupt(self, calls: int, answered: int) -> None:
        """Ask for something else while calls have no results, or only some of them."""
        self.items.append(self.client.user(f"u{self.number} please stop soon"))
        self.next_calls = calls
        results = self._results(self._send())
        if self.client.module.ADAPTER.name in {"openai_chat", "openai_responses"}:
            self.items += results[:answered]
        self._turn(f"u{self.number} please do something else", [])

    @rule(place=_PLACES)
    def remove(self, place: float) -> None:
        """Take one item out."""
        self._edit()
        del self.items[int(place * len(self.items)) : int(place * len(self.items)) + 1]
        self._turn(f"u{self.number} please go on", [])

    @rule(place=_PLACES)
    def edit(self, place: float) -> None:
        """Change what an item says: a request, an output, or a text of a reply."""
        self._edit()
        at = int(place * len(self.items))
        text = json.dumps(self.items[at : at + 1])
        self.items[at : at + 1] = json.loads(re.sub(" (please|nothing|here) ", " else ", text))
        self._turn(f"u{self.number} please go on", [1])

    @rule(place=_PLACES)
    def lose_reasoning(self, place: float) -> None:
        """Strip the reasoning of one reply, as a database does that has no place for it."""
        self._edit()
        at = int(place * len(self.items))
        self.items[at : at + 1] = [each for each in map(_plain, self.items[at : at + 1]) if each]
        self._turn(f"u{self.number} please go on", [])

    @rule(place=_PLACES)
    def trim(self, place: float) -> None:
        """Take the oldest items out."""
        self._edit()
        del self.items[: int(place * len(self.items))]
        self._turn(f"u{self.number} please go on", [1])

    @rule()
    def prepend(self) -> None:
        """Put an older request in front."""
        self._edit()
        self.items.insert(0, self.client.user(f"u{self.number} please look at this first"))
        self._turn(f"u{self.number} please go on", [])

    @rule(place=_PLACES, keep=st.booleans())
    def rewind(self, place: float, *, keep: bool) -> None:
        """Go back; with `keep`, the former branch can be returned to."""
        self._edit()
        if keep:
            self.other = self.items.copy()
        del self.items[int(place * len(self.items)) :]
        self._turn(f"u{self.number} please try it differently", [1])

    @rule()
    def swap(self) -> None:
        """Go on with the other branch."""
        self._edit()
        self.items, self.other = self.other, self.items
        self._turn(f"u{self.number} please go on here", [])

    @rule()
    def reload(self) -> None:
        """Load the list anew: equal items, other objects."""
        self.items = json.loads(json.dumps(self.items))
        self._turn(f"u{self.number} please go on", [1])

    @rule(in_edit=st.booleans())
    def restart(self, *, in_edit: bool) -> None:
        """Go on in another process, from the state; perhaps with another list."""
        state = json.loads(json.dumps(self.conversation.state()))
        self.items = json.loads(json.dumps(self.items))
        if in_edit:
            self._edit()
            del self.items[:1]
        self.conversation = self._make(state)
        self._turn(f"u{self.number} please go on", [1])

    @rule()
    def refuse(self) -> None:
        """Say that the latest request was refused as too large, though it was not."""
        self._edit()
        self.items.append(self.client.user(f"u{self.number} please make it short"))
        self._finish(self._send(refused=True))

    # How it is sent.

    def _edit(self) -> None:
        self.has_edits = True

    def _turn(self, text: str, calls: list[int]) -> None:
        self.items.append(self.client.user(text))
        for number in calls:
            self.next_calls = number
            self.items += self._results(self._send())
        self.next_calls = 0
        self._finish(self._send())

    def _finish(self, reply: list[Any]) -> None:
        if results := self._results(reply):
            self.items += results
            self.next_calls = 0
            self._send()

    def _results(self, reply: list[Any]) -> list[Any]:
        results: list[Any] = json.loads(json.dumps(self.client.answers(reply)))
        return results

    def _send(self, *, refused: bool = False) -> list[Any]:
        """Send the list as the README's loop does; append and return the reply."""
        self._mend()
        before = json.dumps(self.items)
        for _ in range(6):
            request = {**self.client.rest, self.client.items: self.items}
            try:
                sent = self.conversation.fit_request(request, refused=refused)
            except ContextOverflow:
                assert refused
                sent = self.conversation.fit_request(request)
            assert json.dumps(self.items) == before, "the owner's list was changed"
            self.sent = sent[self.client.items]
            self._check(self.sent)
            answer = self.server.post(self.client.path, json.loads(json.dumps(sent)))
            if answer.status == 200:
                break
            problem = self.server.served[-1]
            assert problem.refusal == "overflow", problem.message
            refused = True
        assert answer.status == 200
        if not self.has_edits:
            joined = self._count_joined_replies()
            assert self.server.served[-1].lost <= joined, "valid reasoning was left out"
        self.has_edits = False
        self.conversation.report(answer.body)
        reply: list[Any] = json.loads(json.dumps(self.client.items_of(answer.body)))
        self.items += reply
        return reply

    def _count_joined_replies(self) -> int:
        """Return how many replies go on from one whose results are gone, and are read with it.

        Nothing else parts them in the items of Responses. Their reasoning stays or goes together.
        """
        kinds = [item.get("type") for item in self.items]
        return [*pairwise(kinds)].count(("function_call", "reasoning"))

    def _mend(self) -> None:
        """Take out what makes the owner's own list one that the provider refuses."""
        while self.items and not _is_request(self.items[0]):
            del self.items[0]
        if self.served == "bedrock":
            # It wants roles to alternate, and leaves it to the owner to see to it.
            after = [*self.items[1:], {}]
            self.items[:] = [
                item
                for item, following in zip(self.items, after, strict=True)
                if item["role"] != following.get("role")
            ]
        if self.client.module.ADAPTER.name == "openai_responses":
            after = [*self.items[1:], {}]
            self.items[:] = [
                item
                for item, following in zip(self.items, after, strict=True)
                if item.get("type") != "reasoning"
                or following.get("type") == "function_call"
                or following.get("role") == "assistant"
            ]

    # What holds of every request.

    def _check(self, sent: list[Any]) -> None:
        """Everything is the owner's or our record; nothing is missing without a reason."""
        own, text = json.dumps(self.items), json.dumps(sent)
        for word in set(re.findall(r"\b(?:[uatp]\d+(?:_\d+)?)\b", text)):
            assert re.search(rf"\b{word}\b", own), f"{word} is not the owner's"
        by_id = {id(item) for item in self.items}
        for item in sent:
            said = json.dumps(item)
            assert id(item) in by_id or _is_ours(said) or _names(said) & _names(own), said
        latest = self.conversation.latest
        # A running turn that is sent as text, and is larger than the window, pushes it out.
        if latest is not None and latest.fits:
            assert json.dumps(self._latest_request())[1:-1] in text, "the latest request is missing"
        present = {id(item) for item in sent}
        gone = {at for at, item in enumerate(self.items) if id(item) not in present}
        explained = {at for each in self.conversation.explain() for at in each.positions}
        names = _names(text)
        silent = [at for at in gone - explained if not _names(json.dumps(self.items[at])) <= names]
        assert silent == [], "missing without a reason"

    def _latest_request(self) -> str:
        texts = re.findall(r"u\d+ please [a-z ]+|Look at it\.", json.dumps(self.items))
        return str(texts[-1])


def _names(text: str) -> set[str]:
    """Return what is named in items: requests, replies, files."""
    return set(re.findall(r"\b(?:[ua]\d+|p\d+_\d+)\b", text))


def _is_ours(text: str) -> bool:
    fillers = "Continue.", "Understood.", "Go on.", "[Context Summary", "[Cleared: ", "no result, "
    return any(each in text for each in fillers)


def _is_request(item: Any) -> bool:
    """Return whether an item is words of the user's, and no result."""
    said = json.dumps(item)
    results = "tool_result", "toolResult", "functionResponse"
    return item.get("role") == "user" and not any(each in said for each in results)


def _plain(item: Any) -> Any:
    """Return an item without its reasoning."""
    if item.get("type") == "reasoning":
        return None
    for key in ("content", "parts"):
        if isinstance(item.get(key), list):
            blocks = [
                {name: value for name, value in each.items() if name != "thoughtSignature"}
                for each in item[key]
                if each.get("type") not in _THINKING
                and _THINKING.isdisjoint(each)
                and not each.get("thought")
            ]
            item = {**item, key: blocks}
    return item


def _run(served: str, examples: int, steps: int, *, same: bool) -> None:
    machine = type("Session", (_Session,), {"served": served})
    profile = settings.get_profile("full")
    run_state_machine_as_test(
        machine,
        settings=settings(
            profile, max_examples=examples, stateful_step_count=steps, derandomize=same
        ),
    )


@pytest.mark.parametrize("served", ["anthropic", "bedrock"])
def test_list_edited_before_a_restart_is_served(served: str) -> None:
    """Its compaction holds no more, so that its reasoning stands elsewhere than in the state."""
    session = type("Session", (_Session,), {"served": served})()
    session.begin(policy="no epochs", kind="importance")
    session.reload()
    session.reload()
    session.refuse()

    session.restart(in_edit=True)

    assert session.server.served[-1].status == 200


@pytest.mark.parametrize("served", ["anthropic", "bedrock"])
def test_list_edited_before_a_restart_is_served_after_a_refused_summary(served: str) -> None:
    """The request is made a second time, and nothing more is known of the list by then."""
    session = type("Session", (_Session,), {"served": served})()
    session.begin(policy="counting", kind="clear")
    for _ in range(7):
        session.turn([])

    session.restart(in_edit=True)

    assert session.server.served[-1].status == 200


@pytest.mark.parametrize("policy", ["no epochs", "small"])
@pytest.mark.parametrize("served", ["anthropic", "bedrock"])
def test_reasoning_before_a_gap_is_left_out(served: str, policy: str) -> None:
    """The owner has lost that of a reply in the middle: what is behind it would be refused."""
    session = type("Session", (_Session,), {"served": served})()
    session.begin(policy=policy, kind="none")

    session.lose_reasoning(place=0.155)
    session.lose_reasoning(place=0.566)

    assert session.server.served[-1].status == 200


@pytest.mark.parametrize("policy", ["no epochs", "small"])
def test_reasoning_that_comes_back_is_left_out(policy: str) -> None:
    """A request was sent without it, and what was made then is refused behind it."""
    session = type("Session", (_Session,), {"served": "anthropic"})()
    session.begin(policy=policy, kind="none")
    reply = session.items[3]
    session.lose_reasoning(place=0.9)
    session.turn([])

    session.items[3] = reply
    session.has_edits = True
    session.turn([])

    assert [each.status for each in session.server.served] == 5 * [200]
    assert session.server.served[-1].dropped == 0


def test_replies_that_an_edit_joined_lose_their_reasoning_together() -> None:
    """Without the result between them, the items of two replies are those of one."""
    session = type("Session", (_Session,), {"served": "openai_responses"})()
    session.begin(policy="no epochs", kind="clear")
    session.remove(place=0.625)

    session.reload()

    assert [each.lost for each in session.server.served] == [0, 0, 0, 1, 0]
    assert [each.status for each in session.server.served] == 5 * [200]


def test_reasoning_that_is_lost_during_a_restart_leaves_no_gap() -> None:
    """The state tells which replies had reasoning, so what was before the lost one is left out."""
    session = type("Session", (_Session,), {"served": "anthropic"})()
    session.begin(policy="small", kind="none")
    session.turn([])
    session.turn([])
    session.items[5] = _plain(session.items[5])
    session.has_edits = True

    session.restart(in_edit=False)

    assert [each.status for each in session.server.served] == 6 * [200]
    assert "t4" in json.dumps(session.sent), "what is behind the gap is still valid"


@pytest.mark.parametrize("served", sorted(_SERVERS))
def test_server_refuses_nothing(served: str) -> None:
    """A few short sessions, the same ones each time."""
    _run(served, examples=6, steps=8, same=True)


@pytest.mark.long
@pytest.mark.parametrize("served", sorted(_SERVERS))
def test_server_refuses_nothing_for_long(served: str) -> None:
    """Many long sessions."""
    _run(served, examples=200, steps=30, same=False)
