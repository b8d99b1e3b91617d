import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.app import config
from agentic.context.budget import Compaction
from agentic.loop import Decision, Input
from agentic.messages import Message
from agentic.session import Status, render_context

LONG = "Look at the parser, the printer and all of their tests. " * 40


class Model:
    """Answers whatever it is asked, and remembers how much it was shown."""

    def __init__(self) -> None:
        self.shown: list[int] = []

    async def decide(self, request: Input) -> Decision:
        """Take note of what is sent."""
        self.shown.append(len(request.history))
        return Decision("Done.")


async def _talk(agent: config.AgentConfig, exchanges: int) -> tuple[Model, Status, list[Message]]:
    model = Model()
    async with agent.session("abc123") as session:
        runner = agent.runner(session, model)
        for _ in range(exchanges):
            await runner.run(LONG)
        return model, await session.status(), await session.store.full()


def test_n_messages_trigger_a_summary(tmp_path: Path) -> None:
    """N is 10: the sixth exchange begins with a summary; every message is still in the archive."""
    agent = config.loads("context: {max_messages_before_summary: 10}", folder=tmp_path)

    model, status, full = asyncio.run(_talk(agent, 6))

    assert model.shown[:5] == [1, 3, 5, 7, 9]
    assert model.shown[5] < 11
    assert status.summary is not None
    assert len(full) == 12


def test_k_tokens_trigger_a_summary(tmp_path: Path) -> None:
    """K is 5,000: it is reached long before N, and the model is shown less."""
    agent = config.loads(
        "context: {max_tokens_before_summary: 5000}\ncontext_window: 200000", folder=tmp_path
    )

    model, status, full = asyncio.run(_talk(agent, 14))

    assert status.summary is not None
    assert max(model.shown) < len(full) == 28
    assert "/ 5,000 (" in render_context(status)


def test_two_agents_keep_their_own_thresholds(tmp_path: Path) -> None:
    """Each is shown with its own."""
    (tmp_path / "agents").mkdir()
    for name, most, tokens in [("quick", 15, 32_000), ("researcher", 50, 180_000)]:
        (tmp_path / "agents" / f"{name}.yaml").write_text(
            "context_window: 200000\ncontext:\n"
            f"  max_messages_before_summary: {most}\n"
            f"  max_tokens_before_summary: {tokens}\n"
        )

    screens = [
        render_context(asyncio.run(_talk(config.find(name, tmp_path), 4))[1])
        for name in ("quick", "researcher")
    ]

    assert "Messages: 8 / 15 (53%)" in screens[0]
    assert "/ 32,000 (" in screens[0]
    assert "Messages: 8 / 50 (16%)" in screens[1]
    assert "/ 180,000 (" in screens[1]


def test_auto_summarize_off_waits_for_demand(tmp_path: Path) -> None:
    """N is passed and nothing happens, until somebody asks."""
    agent = config.loads(
        "context_window: 200000\ncontext: {auto_summarize: false, max_messages_before_summary: 10}",
        folder=tmp_path,
    )

    async def ask() -> Compaction:
        async with agent.session("abc123") as session:
            return await session.summarize()

    model, status, _ = asyncio.run(_talk(agent, 8))
    done = asyncio.run(ask())

    assert model.shown == [1, 3, 5, 7, 9, 11, 13, 15]
    assert (status.summary, status.will_trigger) == (None, False)
    assert done.summary is not None
    assert done.summary.messages_summarized == 10


@pytest.mark.parametrize("text", ["{}", "context_window: 8192"])
def test_defaults_keep_requests_within_small_window(tmp_path: Path, text: str) -> None:
    """The window triggers long before K, and nothing that is sent is larger."""
    agent = config.loads(text, folder=tmp_path)

    _, status, full = asyncio.run(_talk(agent, 20))

    assert status.tokens <= agent.policy().available_tokens == 6144
    assert len(full) == 40


def test_conversation_survives_failing_summary_model(
    tmp_path: Path, write_decider: Callable[[str], None]
) -> None:
    """The digest takes its place, and everything is in the archive."""
    write_decider("raise ConnectionError('no route')")
    agent = config.loads(
        "context: {max_messages_before_summary: 10, summary_model: 'failing.py:Failing'}",
        folder=tmp_path,
    )

    _, status, full = asyncio.run(_talk(agent, 6))

    assert status.summary is not None
    assert status.summary.content.startswith("# Digest")
    assert len(full) == 12
