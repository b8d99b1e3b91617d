"""The entry points by which other systems ask for a size, with their names and overheads.

supyagent counts 4 tokens per message, including the role, and 3 per conversation. open-agent-sdk
counts 4 per message, the tokens of the role plus 1, and 2 per conversation. Both take messages as
OpenAI's dicts; these functions accept `Message` too. All of them use `for_model`.
"""

from collections.abc import Iterable

import attrs

from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.tokens._count import (
    AnyMessage,
    CharCounter,
    Counter,
    count_message_tokens,
    count_tokens,
)
from agentic.tokens._estimate import EstimateCounter
from agentic.tokens._exact import TokenizersCounter
from agentic.tokens._models import for_model

__all__ = ["TokenCounter", "count_messages_tokens", "count_text", "estimate_tokens"]

_METHODS = ("tiktoken", "transformers", "chars")
_MEDIA = 600
"""The tokens of one image or other media part, whatever counts the texts."""


def count_text(text: str, model: str = "default") -> int:
    """Return the number of tokens of one text, as a model counts them.

    >>> count_text("Hello, world!")
    4
    >>> count_text("")
    0
    """
    return for_model(model).count(text)


def count_messages_tokens(messages: Iterable[AnyMessage], model: str = "default") -> int:
    """Return the size of a conversation: its texts, 4 tokens per message, and 3 in all.

    >>> count_messages_tokens([{"role": "user", "content": "Hello, world!"}])
    11
    >>> count_messages_tokens([])
    3
    """
    return 3 + count_tokens(messages, for_model(model))


def estimate_tokens(messages: Iterable[AnyMessage], model: str = "gpt-3.5-turbo") -> int:
    """Return the size of a conversation: its texts, 4 tokens per message, 1 per role, 2 in all.

    Without an exact tokenizer for the model, the size is a quarter of all characters and 600 per
    image, which may be as little as half the true size. Even the exact sizes of texts leave out
    what a provider adds: keep a margin of 10 to 20 % to the window.

    >>> estimate_tokens([{"role": "user", "content": "Hello, world!"}])
    12
    >>> estimate_tokens([{"role": "user", "content": "Hello, world!"}], model="my-model")
    4
    """
    counter = for_model(model)
    if not counter.is_exact:
        # In characters: the sum is divided by four, not each message, so media count fourfold.
        counts = (_count_with_role(message, CharCounter(1), 4 * _MEDIA) for message in messages)
        return sum(counts) // 4
    return 2 + sum(5 + _count_with_role(message, counter) for message in messages)


@attrs.frozen
class TokenCounter:
    """A counter chosen by a method's name, as in open-agent-sdk.

    >>> TokenCounter("tiktoken").count("Hello, world!")
    4
    >>> TokenCounter("chars").count("Hello, world!")
    4

    Raises:
        ConfigError: the method is unknown, or the file is not a tokenizer.
    """

    method: str = "tiktoken"
    """`tiktoken`: the vocabulary of `model`, exact if a tokenizer is installed. `transformers`: the
    file `tokenizer`, a model's own `tokenizer.json`; estimated without one. `chars`: four
    characters per token."""
    model: str = attrs.field(default="default", kw_only=True)
    tokenizer: str | None = attrs.field(default=None, kw_only=True)
    _counter: Counter = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_counter", self._pick())

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return self._counter.count(text)

    def _pick(self) -> Counter:
        if self.method == "tiktoken":
            return for_model(self.model)
        if self.method == "transformers":
            return TokenizersCounter(self.tokenizer) if self.tokenizer else EstimateCounter()
        if self.method == "chars":
            return CharCounter()
        allowed = ", ".join(map(repr, _METHODS))
        raise ConfigError("method", self.method, allowed, "or pass any object with count(text)")


def _count_with_role(message: AnyMessage, counter: Counter, media: int = _MEDIA) -> int:
    role = message.role if isinstance(message, Message) else message.get("role", "")
    said = count_message_tokens(message, counter, per_message_overhead=0, tokens_per_media=media)
    return counter.count(str(role)) + said
