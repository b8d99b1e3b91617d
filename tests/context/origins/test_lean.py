"""Rows D1, D2 and D4: the lean utilities of open-agent-sdk, each test a row in its words."""

import asyncio
import copy
import inspect
import subprocess
import sys
from typing import Any

import pytest

from agentic import history, loop, tokens
from agentic.context import estimate_tokens, truncate_messages
from agentic.testing import EventRecorder, ScriptedDecider

PROMPT = {"role": "system", "content": "You are a helpful assistant."}
WITHOUT_TOKENIZER = """
import sys
sys.modules["quicktok"] = sys.modules["tiktoken"] = None
from agentic.context import estimate_tokens
print(estimate_tokens([{"role": "user", "content": "x" * 400}], model="gpt-4o"))
"""


def chat(length: int) -> list[dict[str, Any]]:
    """Make a conversation of dicts."""
    return [{"role": ("user", "assistant")[n % 2], "content": f"number {n}"} for n in range(length)]


def test_count_is_called_by_the_same_arguments() -> None:
    """`estimate_tokens(messages, model="gpt-3.5-turbo")`."""
    parameters = inspect.signature(estimate_tokens).parameters

    assert list(parameters) == ["messages", "model"]
    assert parameters["model"].default == "gpt-3.5-turbo"


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-4o"])
def test_overheads_are_four_one_two(model: str) -> None:
    """Beside the texts and the role's own word, by the exact tokenizer."""
    messages = [PROMPT, *chat(6)]
    counter = tokens.for_model(model)
    texts = sum(counter.count(each["content"]) + counter.count(each["role"]) for each in messages)

    assert counter.is_exact
    assert estimate_tokens(messages, model) == texts + (4 + 1) * len(messages) + 2
    assert estimate_tokens([], model) == 2


def test_else_all_characters_by_four() -> None:
    """A model without a tokenizer: every text, the role's included, and nothing else."""
    messages = [PROMPT, *chat(6)]
    characters = sum(len(each["role"]) + len(each["content"]) for each in messages)

    assert estimate_tokens(messages, model="my-model") == characters // 4


@pytest.mark.parametrize("model", ["gpt-4o", "my-model"])
def test_picture_costs_a_flat_estimate(model: str) -> None:
    """600 tokens, and none of the characters of its base64."""
    url = {"url": "data:image/png;base64," + "A" * 90_000}
    message = {"role": "user", "content": [{"type": "image_url", "image_url": url}]}

    assert 600 <= estimate_tokens([message], model) <= 610


def test_unloadable_tokenizer_falls_back_too() -> None:
    """No package, no network: a process of its own still gets a number."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_TOKENIZER],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == str((len("user") + 400) // 4), done.stderr


def test_trim_is_called_by_the_same_arguments() -> None:
    """`truncate_messages(messages, keep=10, preserve_system=True)`."""
    parameters = inspect.signature(truncate_messages).parameters.values()

    assert [(each.name, each.default) for each in parameters][1:] == [
        ("keep", 10),
        ("preserve_system", True),
    ]


def test_prompt_plus_the_last_ones() -> None:
    """A new list, the caller's own objects, nothing mutated."""
    messages = [PROMPT, *chat(50)]
    before = copy.deepcopy(messages)

    kept = truncate_messages(messages)

    assert list(map(id, kept)) == list(map(id, [PROMPT, *messages[-10:]]))
    assert messages == before


@pytest.mark.parametrize("keep", [4, 5])
def test_prompt_is_not_counted_twice(keep: int) -> None:
    """Also where it is among the last ones."""
    assert truncate_messages([PROMPT, *chat(3)], keep) == [PROMPT, *chat(3)]


def test_nothing_kept_is_not_everything() -> None:
    """`keep=0` leaves the system prompt."""
    assert truncate_messages([PROMPT, *chat(3)], keep=0) == [PROMPT]


def test_orphan_at_cut_is_dropped() -> None:
    """No view starts with the result of a call that is gone."""
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    messages = [
        *chat(1),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
        *chat(2),
    ]

    assert truncate_messages(messages, keep=3) == messages[-2:]
    assert truncate_messages(messages, keep=4) == messages[-4:]


def test_nothing_is_compacted_unless_asked() -> None:
    """Sixty requests to an agent without a budget: the last sees all that was ever said."""
    decider = ScriptedDecider(*[f"answer {n} " + "word " * 500 for n in range(60)])
    store = history.MemoryStore()
    runner = loop.Runner(decider, store=store)

    async def talk() -> None:
        for number in range(60):
            await runner.run(f"question {number}")

    with EventRecorder() as recorder:
        asyncio.run(talk())

    seen = decider.requests[-1].history
    assert [message.content for message in seen if message.role == "user"] == [
        f"question {number}" for number in range(60)
    ]
    assert len(seen) == 119
    assert not {"context_compaction_start", "context_changed"} & set(recorder.names)
