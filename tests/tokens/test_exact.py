import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.errors import ConfigError
from agentic.testing import check_counter
from agentic.tokens import Counter, EstimateCounter, TokenizersCounter
from agentic.tokens._exact import (
    _LONGEST,
    QuicktokCounter,
    TiktokenCounter,
    _load_tiktoken,
    count_in_slices,
)

pytestmark = pytest.mark.slow


@pytest.fixture
def tokenizer_json(tmp_path: Path) -> Path:
    """Return a tokenizer of bytes and one special token, as a local model would bring it."""
    alphabet = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = [byte for byte in range(256) if byte not in alphabet]
    letters = [*map(chr, alphabet), *(chr(256 + i) for i in range(len(spare)))]
    pre = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(letters)}, "merges": []}
    special = {"id": 256, "content": "<|end|>", "single_word": False, "lstrip": False}
    special |= {"rstrip": False, "normalized": False, "special": True}
    plain = {"version": "1.0", "added_tokens": [special], "pre_tokenizer": pre, "model": model}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(plain), "utf-8")
    return path


@pytest.fixture
def vocabularies(monkeypatch: pytest.MonkeyPatch, recorded_path: Callable[[str], Path]) -> None:
    """Let tiktoken find its vocabularies beside the checkout."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(recorded_path("tiktoken_cache")))
    _load_tiktoken.cache_clear()


@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base", "llama3", "qwen3"])
def test_quicktok_keeps_a_counters_promises(encoding: str) -> None:
    """It refuses lone surrogates and special tokens; its counter does not."""
    check_counter(lambda: QuicktokCounter(encoding))


@pytest.mark.corpus
@pytest.mark.usefixtures("vocabularies")
def test_tiktoken_keeps_a_counters_promises() -> None:
    """It panics at a megabyte of spaces; its counter does not."""
    check_counter(TiktokenCounter)


def test_tokenizer_json_keeps_a_counters_promises(tokenizer_json: Path) -> None:
    """At any size."""
    check_counter(lambda: TokenizersCounter(tokenizer_json), timeout_seconds=60)


@pytest.mark.corpus
@pytest.mark.usefixtures("vocabularies")
@pytest.mark.parametrize("text", ["Hello, world!", "naïve café 日本語 \U0001f680", "a" * 300, ""])
def test_quicktok_counts_as_tiktoken_does(text: str) -> None:
    """In both vocabularies."""
    for encoding in ("o200k_base", "cl100k_base"):
        assert QuicktokCounter(encoding).count(text) == TiktokenCounter(encoding).count(text)


def test_tokenizer_json_counts_no_special_token(tokenizer_json: Path) -> None:
    """What spells a special token is text."""
    counter = TokenizersCounter(tokenizer_json)

    assert counter.count("é <|end|>") == 10


@pytest.mark.parametrize("tail", ["", "x" * 10, "\n", " "])
def test_long_text_is_counted_by_parts(tail: str) -> None:
    """Each part of bounded size; together they are the text."""
    parts: list[str] = []

    def count(text: str) -> int:
        parts.append(text)
        return len(text)

    text = "one line of text, and another\n" * 10_000 + " " * 200_000 + "x" * 200_000 + tail
    assert count_in_slices(count, text) == len(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= _LONGEST
    assert all(part.endswith("text, and another\n") for part in parts[:3])


@pytest.mark.parametrize("text", ["\ud83d\ude00", "\ud83d", "a\udfff", "\x00"])
def test_lone_surrogates_are_replaced(text: str) -> None:
    """A pair of them is joined."""
    assert QuicktokCounter().count(text) == QuicktokCounter().count(
        text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


class PanicException(BaseException):
    """Named as what pyo3 raises."""


@pytest.mark.parametrize(
    ("problem", "falls_back"), [(PanicException, True), (KeyboardInterrupt, False)]
)
def test_only_panics_lead_to_estimates(problem: type[BaseException], falls_back: bool) -> None:
    """An interruption passes."""

    def count(_: str) -> int:
        raise problem

    if falls_back:
        assert count_in_slices(count, "some text") == EstimateCounter().count("some text")
    else:
        with pytest.raises(problem):
            count_in_slices(count, "some text")


def test_tiktoken_without_vocabulary_warns_and_estimates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a machine without a network."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    _load_tiktoken.cache_clear()

    with pytest.warns(RuntimeWarning, match="TIKTOKEN_CACHE_DIR"):
        counter = TiktokenCounter("p50k_base")

    assert not counter.is_exact
    assert TiktokenCounter("p50k_base").count("some text") == EstimateCounter().count("some text")
    _load_tiktoken.cache_clear()


@pytest.mark.parametrize("make", [QuicktokCounter, TiktokenCounter])
def test_an_unknown_encoding_is_refused(make: Callable[[str], Counter]) -> None:
    """When the counter is made, not when it counts."""
    with pytest.raises(ConfigError, match=r"encoding must be .*, got 'o300k'"):
        make("o300k")


def test_path_of_another_type_is_refused() -> None:
    """Before any file is looked for."""
    with pytest.raises(ConfigError, match=r"TokenizersCounter\.path must be a str, got 5"):
        TokenizersCounter(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [None, "{}", "no JSON"])
def test_file_without_tokenizer_is_refused(tmp_path: Path, content: str | None) -> None:
    """Nor one that is not there."""
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigError, match=r"path must be the path of a model's.*, got .*"):
        TokenizersCounter(path)


def test_exact_counter_can_change_its_process() -> None:
    """It is the name of a vocabulary."""
    counter = QuicktokCounter("cl100k_base")

    assert pickle.loads(pickle.dumps(counter)).count("Hello, world!") == 4  # noqa: S301  our own


def test_missing_extra_is_named(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """With the line that installs it; for_model does without."""
    script = """
import sys
for name in ("quicktok", "tiktoken", "tokenizers"):
    sys.modules[name] = None
from agentic import tokens
for make in (tokens.QuicktokCounter, tokens.TiktokenCounter, lambda: tokens.TokenizersCounter("x")):
    try:
        make()
    except ImportError as problem:
        print(problem)
print(tokens.for_model("gpt-4o").description)
print(tokens.for_model("llama-3.1-8b").is_exact, tokens.estimate_tokens([{"content": "x" * 40}]))
"""
    assert run_python(script).split("\n") == [
        f"this counter needs an extra: {remedy('context')}",
        f"this counter needs an extra: {remedy('tiktoken')}",
        f"this counter needs an extra: {remedy('tokenizers')}",
        f"estimated: no tokenizer of o200k_base is installed ({remedy('context')})",
        "False 10",
    ]


def test_importing_the_room_loads_no_tokenizer(run_python: Callable[[str], str]) -> None:
    """Nor anything else that a counter does not need."""
    loaded = run_python("import sys, agentic.tokens; print(*sys.modules)").split()

    assert {"quicktok", "tiktoken", "tokenizers", "numpy", "asyncio", "requests"}.isdisjoint(loaded)
