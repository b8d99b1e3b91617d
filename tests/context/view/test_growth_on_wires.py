"""Between two epochs a request extends the last one, as each provider reads it.

Invariants 13 and 14 of the design: the judge is a model server, which shares no code with the View.
"""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.context import strategies
from agentic.context.budget import Policy
from agentic.testing import ModelServer, ScriptedAnswer
from agentic.tokens import CharCounter
from benchmarks.binding import dicts

_COUNTER = CharCounter(4)
_CHAINS: list[list[Any]] = [
    [],
    [strategies.TrimRounds(2)],
    [strategies.ClearToolOutputs(500, _COUNTER, min_tokens=1)],
    [strategies.TruncateToolOutputs(60), strategies.FitContextWindow(900, _COUNTER)],
]
_CLIENTS = [
    dicts._ANTHROPIC,
    dicts._RESPONSES,
    dicts._CHAT,
    dicts._BEDROCK,
    dicts._GEMINI,
]
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.integers(0, 4)),
        st.just(("interrupt", 0)),
        st.just(("late", 0)),
        st.tuples(st.just("rewind"), st.integers(1, 4)),
        st.just(("restart", 0)),
    ),
    min_size=3,
    max_size=14,
)


class _Owner:
    """Somebody's loop around a list of dicts, of which the owner changes what it likes."""

    def __init__(self, client: Any, chain: list[Any], *, strict: bool) -> None:
        self.client, self.chain, self.items = client, chain, []  # type: ignore[var-annotated]
        self.answer = ScriptedAnswer()
        self.server = ModelServer(script=lambda _: self.answer, strict=strict)
        self.open: list[Any] = []
        """The results that have not come yet."""
        self.is_resumed = False
        """Whether nothing was sent since a restart."""
        self.has_forgotten = False
        """Whether the owner went back to a request that no state tells of."""
        self.conversation = self._conversation(None)

    def _conversation(self, state: Any) -> Conversation:
        model = self.client.rest.get("model", self.client.path.split("/")[-2])
        return Conversation(
            self.client.module,
            Policy(1_500),
            counter=_COUNTER,
            strategies=self.chain,
            model=model,
            state=state,
        )

    def ask(self, *, calls: bool) -> list[Any]:
        """Send a request, and return the results of the calls in the reply."""
        words = "" if calls else f"That is what {len(self.items)} says. " * 5
        arguments = ({"path": f"f{len(self.items)}.py"},) if calls else ()
        self.answer = ScriptedAnswer(
            text=words, calls=arguments, thinking="Hm.", thinking_tokens=20
        )
        body = {**self.client.rest, self.client.items: self.items}
        request = json.loads(json.dumps(self.conversation.fit_request(body)))
        reply = self.server.post(self.client.path, request)
        assert reply.status == 200, reply.body
        self.conversation.report(reply.body)
        said = self.client.items_of(reply.body)
        self.items += said
        return list(self.client.answers(said))

    def check(self) -> None:
        """Compare what the View says of its request with what the server has read."""
        latest = self.conversation.latest
        assert latest is not None
        served = self.server.served[-1]
        assert not served.change or not latest.extends
        # A state tells what the latest request was, and nothing of those before it.
        self.has_forgotten |= self.is_resumed and not latest.extends
        self.is_resumed = False
        assert served.lost == 0 or self.has_forgotten

    def do(self, step: str, amount: int) -> None:
        if step == "turn":
            self.items.append(self.client.user(f"Request {len(self.items)}: " + "please " * 9))
            for _ in range(amount):
                self.items += self.ask(calls=True)
                self.check()
            self.ask(calls=False)
            self.check()
        elif step == "interrupt":
            self.items.append(self.client.user("Start something."))
            self.open = self.ask(calls=True)
            self.check()
            self.items.append(self.client.user("Do not wait for it."))
            self.ask(calls=False)
            self.check()
        elif step == "late":
            self.items += self.open
            self.open = []
        elif step == "rewind":
            starts = [at for at, item in enumerate(self.items) if item == self._user(item)]
            del self.items[starts[-min(amount, len(starts))] if starts else 0 :]
            self.open = []
        elif step == "restart":
            state = json.loads(json.dumps(self.conversation.state()))
            self.conversation = self._conversation(state)
            self.is_resumed = True

    def _user(self, item: Any) -> Any:
        """Return the item of a user who says the same."""
        text = item.get("content") or item.get("parts")
        while isinstance(text, list):
            text = text[0].get("text", "") if text else ""
        return self.client.user(text or "")


@pytest.mark.parametrize("client", _CLIENTS, ids=lambda client: client.module.ADAPTER.name)
@given(steps=_STEPS, chain=st.sampled_from(_CHAINS), strict=st.booleans())
@example(steps=[("turn", 1), ("interrupt", 0), ("rewind", 1)], chain=[], strict=True)
@example(steps=[("interrupt", 0), ("turn", 0), ("late", 0)], chain=[], strict=True)
@settings(max_examples=300, deadline=None)
def test_request_extends_the_last_one_between_epochs(
    client: Any, steps: list[tuple[str, int]], chain: list[Any], strict: bool
) -> None:
    """Whatever the owner does; no request is refused, and no valid reasoning is left out."""
    owner = _Owner(client, chain, strict=strict)

    for step, amount in [*steps, ("turn", 1), ("turn", 0)]:
        owner.do(step, amount)

    assert owner.server.report.refused == {}
