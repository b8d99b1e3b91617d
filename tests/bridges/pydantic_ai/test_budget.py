"""An agent's requests stay within the window, over runs, processes and conversations."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelRequest, UserPromptPart

from agentic.bridges.pydantic_ai import to_model_messages
from agentic.messages import Message


def _talk(
    agent: Any, framework: Any, runs: int, history: Sequence[Any] = (), *, save: bool = False
) -> list[Any]:
    """Run an agent several times, each with the messages of the run before it."""
    for n in range(runs):
        result = asyncio.run(agent.run(f"u{n} " + "please " * 12, message_history=list(history)))
        history = result.all_messages()
        if save:
            history = framework.through_json(history)
    return list(history)


def test_requests_stay_within_window(framework: Any) -> None:
    """Every request fits, ends with what the model must answer, and has one summary at most."""
    model, budget = framework.RecordingModel(), framework.budget()
    history = _talk(framework.agent(model, budget), framework, runs=20)
    assert len(history) == 80
    assert len(model.requests) == 40
    for sent in model.requests:
        assert (
            len(str([part.content for m in sent for part in m.parts if hasattr(part, "content")]))
            < 2_800
        )
        assert len(framework.summaries(sent)) <= 1
        assert isinstance(sent[-1], ModelRequest)
        assert not framework.unpaired(sent)
    assert 1 < budget.compactor.asked < 10


def test_history_keeps_every_message(framework: Any) -> None:
    """By default the messages of the run are the same as without a budget."""
    model, budget = framework.RecordingModel(), framework.budget()
    with_budget = _talk(framework.agent(model, budget), framework, runs=12)
    without = _talk(framework.agent(framework.RecordingModel()), framework, runs=12)
    assert budget.compactor.asked
    assert [m.kind for m in with_budget] == [m.kind for m in without]
    assert [p.content for m in with_budget for p in m.parts if hasattr(p, "content")] == [
        p.content for m in without for p in m.parts if hasattr(p, "content")
    ]


def test_untouched_messages_stay_same_objects(framework: Any) -> None:
    """What is not edited is sent as the framework's own object."""
    model, budget = framework.RecordingModel(), framework.budget()
    history = _talk(framework.agent(model, budget), framework, runs=12)
    known = {id(message) for message in history}
    sent = model.requests[-1]
    assert framework.summaries(sent)
    assert [id(message) in known for message in sent[1:]] == [True] * (len(sent) - 1)


def test_state_survives_json(framework: Any) -> None:
    """Another process goes on with the summary that is noted in the messages."""
    model, budget = framework.RecordingModel(), framework.budget()
    history = framework.through_json(_talk(framework.agent(model, budget), framework, runs=12))
    former = framework.summaries(model.requests[-1])[0].content

    other, fresh = framework.RecordingModel(calls=0), framework.budget()
    asyncio.run(framework.agent(other, fresh).run("Go on.", message_history=history))
    assert framework.summaries(other.requests[-1])[0].content == former
    assert fresh.compactor.asked == 0


def test_later_summary_replaces_stored_state(framework: Any) -> None:
    """Another process makes its next summary once, and does not go back to the stored one."""
    history = _talk(framework.agent(framework.RecordingModel(), framework.budget()), framework, 12)
    model, budget = framework.RecordingModel(), framework.budget()
    _talk(framework.agent(model, budget), framework, 12, framework.through_json(history))
    former = 0
    for sent in model.requests:
        [summary] = framework.summaries(sent)
        assert summary.metadata["agentic"]["messages_summarized"] >= former
        former = summary.metadata["agentic"]["messages_summarized"]
    assert 0 < budget.compactor.asked < 8


def test_json_between_runs_changes_nothing(framework: Any) -> None:
    """The same summaries are made, whether the messages were saved after each run or not."""
    asked = []
    for save in (False, True):
        model, budget = framework.RecordingModel(), framework.budget()
        _talk(framework.agent(model, budget), framework, runs=15, save=save)
        asked.append((budget.compactor.asked, [len(each) for each in model.requests]))
    assert asked[0] == asked[1]


def test_summary_rewrites_history_on_request(framework: Any) -> None:
    """With `rewrite`, the run's own messages begin with the summary, which survives JSON."""
    model, budget = framework.RecordingModel(), framework.budget(rewrite=True)
    history = _talk(framework.agent(model, budget), framework, runs=15, save=True)
    assert len(history) < 30
    [summary] = framework.summaries(history)
    assert "previous messages]" in summary.content
    assert summary.metadata["agentic"]["messages_summarized"] > 20
    assert budget.compactor.asked < 8


def test_new_messages_survive_rewriting(framework: Any) -> None:
    """With `rewrite`, `new_messages` still holds the run's request and reply."""
    model, budget = framework.RecordingModel(), framework.budget(rewrite=True)
    agent = framework.agent(model, budget)
    history: list[Any] = []
    for n in range(12):
        result = asyncio.run(agent.run(f"u{n} " + "please " * 12, message_history=history))
        history = result.all_messages()
        new = result.new_messages()
        assert [m.kind for m in new] == ["request", "response"] * 2
        assert new[0].parts[-1].content.startswith(f"u{n} ")


def test_conversations_stay_apart(framework: Any) -> None:
    """One agent serves conversations in turn, and each has a summary of its own."""
    model, budget = framework.RecordingModel(calls=0), framework.budget()
    agent = framework.agent(model, budget)
    histories: dict[str, list[Any]] = {"ann": [], "bob": []}
    for n in range(30):
        for name, history in histories.items():
            words = f"{name} {n} " + "please " * 12
            result = asyncio.run(agent.run(words, message_history=history))
            histories[name] = result.all_messages()
            said = [
                p.content
                for m in model.requests[-1]
                for p in m.parts
                if isinstance(p, UserPromptPart)
            ]
            assert all(text.startswith(name) for text in said)
    assert len(budget._conversations) == 2


def test_parallel_runs_share_agent(framework: Any) -> None:
    """Runs at the same time do not disturb each other."""
    model, budget = framework.RecordingModel(calls=6, parallel=2), framework.budget()
    agent = framework.agent(model, budget)

    async def run() -> list[Any]:
        return await asyncio.gather(*(agent.run(f"u{n} please") for n in range(5)))

    results = asyncio.run(run())
    assert [len(result.all_messages()) for result in results] == [14] * 5
    assert not any(framework.unpaired(sent) for sent in model.requests)


def test_a_budget_serves_loop_after_loop(framework: Any) -> None:
    """A script may call `asyncio.run` twice, with runs of one conversation in each."""

    class Sleeping:
        async def compact(self, messages: list[Message], /) -> str:
            await asyncio.sleep(0.01)
            return f"Summary of {len(messages)} messages."

    model, budget = framework.RecordingModel(calls=0), framework.budget(compactor=Sleeping())
    agent = framework.agent(model, budget)

    async def run(words: str) -> None:
        history = to_model_messages([Message("user", f"{words} {n}") for n in range(200)])
        runs = (agent.run("Go on.", message_history=history, conversation_id="c") for _ in "ab")
        await asyncio.gather(*runs)

    for words in ("please", "rather"):
        asyncio.run(run(words))
    assert all(framework.summaries(sent) for sent in model.requests)
    assert len(model.requests) == 4


def test_forgotten_conversation_reads_its_state(framework: Any) -> None:
    """A conversation beyond the limit goes on with the summary in its messages."""
    model, budget = framework.RecordingModel(calls=0), framework.budget(max_conversations=1)
    agent = framework.agent(model, budget)
    history = _talk(agent, framework, runs=22)
    asked = budget.compactor.asked
    asyncio.run(agent.run("Something else."))
    assert len(budget._conversations) == 1
    asyncio.run(agent.run("Go on.", message_history=history))
    assert asked == budget.compactor.asked > 0
    assert framework.summaries(model.requests[-1])
