"""The tokenizers themselves, each from an extra that is imported when its counter is created.

Special tokens are not recognized: a text such as `<|endoftext|>` is counted as its characters. A
counter is a value that names its vocabulary, and each vocabulary is loaded once per process.

Given a megabyte without a break, tokenizers take minutes or fail (tiktoken panics at 1,000,000
spaces: https://github.com/openai/tiktoken/issues/245), and some refuse lone surrogates. So a text
longer than 65,536 characters is counted in parts of at most that length. The parts are cut after a
line or before a word, where a tokenizer would cut too: the error is at most one token per part, and
a few tokens if a run without a break had to be cut.
"""

import functools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from agentic._base import _imports
from agentic._base._validate import must_be
from agentic.errors import ConfigError
from agentic.tokens._estimate import EstimateCounter

_LONGEST = 1 << 16


@attrs.frozen
class QuicktokCounter:
    """Counts with quicktok: exact, offline, five times as fast as tiktoken (extra `context`).

    >>> QuicktokCounter().count("Hello, world!")
    4

    Raises:
        ConfigError: quicktok does not include the vocabulary.
        ImportError: the extra is not installed.
    """

    encoding: str = attrs.field(default="o200k_base", validator=must_be(str))
    """`o200k_base`, `cl100k_base`, `o200k_harmony`, `llama3`, or `qwen3` (also for Qwen 2.5)."""

    def __attrs_post_init__(self) -> None:
        _load_quicktok(self.encoding)

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return count_in_slices(_load_quicktok(self.encoding), text)


@attrs.frozen
class TiktokenCounter:
    """Counts with tiktoken, the reference for OpenAI's models (extra `tiktoken`).

    It downloads a vocabulary at its first use, and stores it in `TIKTOKEN_CACHE_DIR`. If it cannot,
    it warns once per process, and `EstimateCounter` counts instead.

    Raises:
        ConfigError: tiktoken does not know the vocabulary.
        ImportError: the extra is not installed.
    """

    encoding: str = attrs.field(default="o200k_base", validator=must_be(str))

    def __attrs_post_init__(self) -> None:
        _load_tiktoken(self.encoding)

    @property
    def is_exact(self) -> bool:
        """Whether the vocabulary could be loaded."""
        return _load_tiktoken(self.encoding) is not None

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        load = _load_tiktoken(self.encoding)
        return count_in_slices(load, text) if load else EstimateCounter().count(text)


def _path(path: "str | os.PathLike[str]") -> str:
    return os.fspath(path) if isinstance(path, os.PathLike) else path


@attrs.frozen
class TokenizersCounter:
    """Counts with a local model's own `tokenizer.json` (extra `tokenizers`), exact and offline.

    The file is next to the model's weights. What a chat template adds is not counted.

    Raises:
        ConfigError: there is no such file, or it is not a tokenizer.
        ImportError: the extra is not installed.
    """

    path: str = attrs.field(converter=_path, validator=must_be(str))

    def __attrs_post_init__(self) -> None:
        _load_tokenizer(self.path)

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return count_in_slices(_load_tokenizer(self.path), text)


@functools.cache
def _load_quicktok(encoding: str) -> Callable[[str], int]:
    try:
        with _imports.quietly():
            import quicktok  # type: ignore[import-untyped]  # noqa: PLC0415  an optional extra
    except ImportError as problem:
        raise _missing("context") from problem
    try:
        tokenizer = quicktok.get_encoding(encoding)
    except (RuntimeError, OSError, ValueError) as problem:
        raise _unknown(encoding, "a vocabulary of quicktok") from problem
    # As many as `encode_ordinary` returns, without a list of them.
    count: Callable[[str], int] = tokenizer.count
    return count


@functools.cache
def _load_tiktoken(encoding: str) -> Callable[[str], int] | None:
    try:
        with _imports.quietly():
            import tiktoken  # noqa: PLC0415  an optional extra
    except ImportError as problem:
        raise _missing("tiktoken") from problem
    # Before loading, where an unknown name could not be told from a failed download.
    if encoding not in tiktoken.list_encoding_names():
        raise _unknown(encoding, f"one of {', '.join(tiktoken.list_encoding_names())}")
    try:
        tokenizer = tiktoken.get_encoding(encoding)
    except Exception as problem:  # noqa: BLE001  any error of the network, a proxy or the disk
        warnings.warn(
            f"tiktoken could not load {encoding} ({type(problem).__name__}): sizes are estimated. "
            "Set TIKTOKEN_CACHE_DIR to a folder that holds the vocabulary, or install "
            "agentic-weave[context], which brings it",
            RuntimeWarning,
            # Past this function and the two that construct a TiktokenCounter, to the caller's line.
            stacklevel=4,
        )
        return None
    return lambda text: len(tokenizer.encode_ordinary(text))


@functools.cache
def _load_tokenizer(path: str) -> Callable[[str], int]:
    try:
        with _imports.quietly():
            import tokenizers  # noqa: PLC0415  an optional extra
    except ImportError as problem:
        raise _missing("tokenizers") from problem
    try:
        tokenizer = tokenizers.Tokenizer.from_str(Path(path).read_text("utf-8"))
    except Exception as problem:  # the library raises no narrower type
        kind = "the path of a model's tokenizer.json"
        raise ConfigError("path", path, kind, f"look at the file ({problem})") from problem
    # The file may ask for truncation to a length and for padding, and both would change the count.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _missing(extra: str) -> ImportError:
    remedy = _imports.pip_install(f"agentic-weave[{extra}]")
    return ImportError(f"this counter needs an extra: {remedy}")


def _unknown(encoding: str, kind: str) -> ConfigError:
    return ConfigError("encoding", encoding, kind, "take it from tokens.get_encoding(model)")


def count_in_slices(count: Callable[[str], int], text: str) -> int:
    """Count a text with `count`, in slices that are short enough for it.

    >>> count_in_slices(len, "x" * 100_000)
    100000
    """
    if len(text) <= _LONGEST:
        return _count_slice(count, text)
    return sum(_count_slice(count, part) for part in _split(text))


def _split(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = _cut(text, begin)
        yield text[begin:end]
        begin = end


def _cut(text: str, begin: int) -> int:
    end = begin + _LONGEST
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", begin, end)
    # Not between white space: a tokenizer takes a newline together with the blanks that follow it.
    if line > begin and not text[line + 1].isspace():
        return line + 1
    blank = text.rfind(" ", begin + 1, end)
    return blank if blank > begin else end


def _count_slice(count: Callable[[str], int], text: str) -> int:
    try:
        return count(text if text.isascii() else _encodable(text))
    except BaseException as problem:
        # A panic of Rust is not an Exception:
        # https://pyo3.rs/main/doc/pyo3/panic/struct.panicexception
        if type(problem).__name__ != "PanicException":
            raise
        return EstimateCounter().count(text)


def _encodable(text: str) -> str:
    """Join pairs of surrogates, and replace lone ones by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
