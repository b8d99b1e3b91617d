import pickle
from typing import Any

import pytest

from agentic.context import budget
from agentic.errors import ConfigError
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.tokens import (
    MODEL_ENCODINGS,
    CharCounter,
    EstimateCounter,
    TokenCounter,
    count_message_tokens,
    count_messages_tokens,
    count_text,
    estimate_tokens,
    for_model,
    get_encoding,
)


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-0613", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("GPT-4o-mini", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-4.5-preview", "o200k_base"),
        ("gpt-5.1-codex", "o200k_base"),
        ("azure/gpt-5-mini", "o200k_base"),
        ("ft:gpt-4o-mini-2024-07-18:acme::b7", "o200k_base"),
        ("openai.gpt-oss-120b-1:0", "o200k_harmony"),
        ("o3-mini", "o200k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        ("claude-3-opus", "cl100k_base"),
        ("default", "cl100k_base"),
        ("my-model", "cl100k_base"),
        ("", "cl100k_base"),
    ],
)
def test_the_longest_name_gives_the_encoding(model: str, encoding: str) -> None:
    """Row B1, in any provider's spelling."""
    assert get_encoding(model) == encoding


def test_every_source_name_is_there() -> None:
    """With the encoding that it has there."""
    names = {"gpt-4", "gpt-3.5", "claude", "default"}

    assert {MODEL_ENCODINGS[name] for name in names} == {"cl100k_base"}


@pytest.mark.corpus
def test_the_table_agrees_with_tiktoken() -> None:
    """On every model that tiktoken knows and that has a vocabulary of today."""
    known = pytest.importorskip("tiktoken.model").MODEL_TO_ENCODING

    ours = {"o200k_base", "o200k_harmony", "cl100k_base"}
    for model, encoding in known.items():
        if encoding in ours:
            assert get_encoding(model) == encoding, model


@pytest.mark.parametrize(
    ("model", "is_exact", "said"),
    [
        ("gpt-5", True, "exact: o200k_base by quicktok"),
        ("gpt-4", True, "exact: cl100k_base by quicktok"),
        ("meta-llama/Llama-3.1-8B-Instruct", True, "exact: llama3 by quicktok"),
        ("qwen2.5:7b", True, "exact: qwen3 by quicktok"),
        ("qwen3.5-35b", False, "times 1.15"),
        ("qwen3.8-max", False, "times 1.15"),
        ("qwen3-coder-30b", True, "exact: qwen3 by quicktok"),
        ("llama3.3:70b", True, "exact: llama3 by quicktok"),
        ("gpt-5.4-mini", True, "exact: o200k_base by quicktok"),
        ("gpt-6-sol", False, "probably exact: o200k_base"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", False, "times 1.3"),
        ("claude-opus-4.7", False, "times 1.55"),
        ("claude-opus-5-5", False, "times 1.55"),
        ("claude-mythos-5-2", False, "times 1.55"),
        ("claude-mythos-5", False, "times 1.55"),
        ("claude-opus-7", False, "times 1.55"),
        ("claude-3.5-sonnet", False, "times 1.3"),
        ("claude-haiku-4-5@20251001", False, "times 1.3"),
        ("gemini-3-pro-preview", False, "times 1.1"),
        ("deepseek-chat", False, "times 1.15"),
        ("my-model", False, "times 1.15"),
    ],
)
def test_model_gets_the_best_counter(model: str, is_exact: bool, said: str) -> None:
    """And is told how exact that is."""
    counter = for_model(model)

    assert (counter.model, counter.is_exact) == (model, is_exact)
    assert said in counter.description
    assert counter.count("") == 0 < counter.count("Hello, world!")


@pytest.mark.parametrize("version", ["{}.9", "{}-9", "{}.9-max", "acme/{}.9:free", "{}.9:27b"])
@pytest.mark.parametrize(
    "model",
    [
        *("gpt-4", "gpt-4.1", "gpt-3.5", "o1", "o3"),
        *("llama-3", "llama3.1", "llama-3.3", "meta-llama-3.1", "qwen2", "qwen2.5", "qwen3"),
    ],
)
def test_newer_version_is_never_exact(model: str, version: str) -> None:
    """Its vocabulary may be another, as that of Qwen 3.5 is."""
    assert for_model(model).is_exact
    assert not for_model(version.format(model)).is_exact


def test_model_counter_is_value_and_counter() -> None:
    """A Manager takes it; another process too."""
    counter = for_model("gpt-5")

    budget.Manager(counter, policy=budget.Policy(100_000))
    assert pickle.loads(pickle.dumps(counter)) == counter  # noqa: S301  our own


@pytest.mark.parametrize("model", [None, 4, b"gpt-4"])
def test_model_without_name_is_refused(model: Any) -> None:
    """At every door."""
    for door in (get_encoding, for_model):
        with pytest.raises(ConfigError, match="the name that you send"):
            door(model)


CONVERSATION = [
    Message("system", "You are a helpful assistant."),
    Message("user", "What is in a.txt?"),
    Message("assistant", tool_calls=[ToolCall("c1", "read", '{"path": "a.txt"}')]),
    Message("tool", tool_results=[ToolResult("c1", "read", "Hello!")]),
]
PLAIN = [
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "id": "m1", "content": [{"type": "text", "text": "What is in a.txt?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path": "a.txt"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "Hello!"},
]


def test_conversation_is_messages_and_three() -> None:
    """Row B1: as messages, or as OpenAI's dicts."""
    counter = for_model("gpt-4o")

    counted = 3 + sum(count_message_tokens(message, counter) for message in CONVERSATION)
    assert count_messages_tokens(CONVERSATION, "gpt-4o") == counted
    assert count_messages_tokens(PLAIN, "gpt-4o") == counted
    assert count_messages_tokens([]) == 3
    assert count_text("") == 0


def test_estimate_has_its_sources_overheads() -> None:
    """Row D1: four a message, the role and one for it, two in all."""
    plain = {"role": "user", "content": "Hello, world!"}

    assert estimate_tokens([]) == 2
    assert estimate_tokens([plain]) == 2 + 4 + 1 + 1 + count_text("Hello, world!", "gpt-3.5-turbo")
    assert estimate_tokens(CONVERSATION) == estimate_tokens(PLAIN)


def test_estimate_without_tokenizer_quarters_the_characters() -> None:
    """All of them, the role's included, and nothing else."""
    plain = {"role": "user", "content": "x" * 39}

    assert estimate_tokens([plain, plain], model="my-model") == (4 + 39) * 2 // 4


def test_media_are_not_counted_as_text() -> None:
    """However large they are."""
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 99_999}}
    media = Message("user", media=[Media("image/png", b"\x89PNG" * 999)])

    assert count_messages_tokens([{"role": "user", "content": [url]}]) == 3 + 4 + 600
    assert count_messages_tokens([media]) == 3 + 4 + 600


@pytest.mark.parametrize(
    ("counter", "same"),
    [
        (TokenCounter(), for_model("default")),
        (TokenCounter("tiktoken", model="gpt-5"), for_model("gpt-5")),
        (TokenCounter("chars"), CharCounter()),
        (TokenCounter(method="transformers"), EstimateCounter()),
    ],
)
def test_a_method_picks_the_counter(counter: TokenCounter, same: CharCounter) -> None:
    """Row C1."""
    text = "def main() -> None: ..."

    assert counter.count(text) == same.count(text)


def test_an_unknown_method_is_refused() -> None:
    """The error names those there are."""
    with pytest.raises(ConfigError, match="'tiktoken', 'transformers', 'chars'"):
        TokenCounter("words")
