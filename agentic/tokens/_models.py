"""The best installed counter for a model, how exact it is, and the model's vocabulary.

The vocabularies of OpenAI, Llama 3 and Qwen are public. Others are estimated as o200k_base and
scaled up (`limits.token_scale`), rather too much than too little, because a budget that relies on
too low a count overflows.

Vocabularies have tiktoken's names (https://github.com/openai/tiktoken/blob/main/tiktoken/model.py,
as of version 0.14). `claude` and the default are those of supyagent
(https://github.com/ergodic-ai/supyagent).

Other systems ask for a size by entry points of their own, with other overheads, which use
`for_model` here. supyagent counts 4 tokens per message, including the role, and 3 per conversation.
open-agent-sdk counts 4 per message, the tokens of the role plus 1, and 2 per conversation. Both
take messages as OpenAI's dicts; these functions accept `Message` too.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

from agentic._base import _imports
from agentic._base._validate import must_count
from agentic.errors import ConfigError
from agentic.limits import _lookup
from agentic.limits._lookup import token_scale
from agentic.limits._media_costs import MediaCosts
from agentic.limits._names import check_name, longest_beginning, longest_name
from agentic.messages import Media, Message
from agentic.protocols import Counter
from agentic.tokens._count import AnyMessage, CharCounter, count_message_tokens, count_tokens
from agentic.tokens._estimate import EstimateCounter
from agentic.tokens._exact import QuicktokCounter, TiktokenCounter, TokenizersCounter
from agentic.tokens._media import count_media

# The vocabularies of local models that quicktok includes. Each version is listed: the next one may
# have another, as Qwen since 3.5 (https://keras.io/keras_hub/api/models/qwen3_5/qwen3_5_tokenizer/)
# and Llama since 4.
_OPEN = {
    **dict.fromkeys(("llama-3", "llama-3.1", "llama-3.2", "llama-3.3"), "llama3"),
    **dict.fromkeys(("llama3", "llama3.1", "llama3.2", "llama3.3"), "llama3"),
    **dict.fromkeys(("meta-llama-3", "meta-llama-3.1", "meta-llama-3.3"), "llama3"),
    **dict.fromkeys(("qwen2", "qwen2.5", "qwen3"), "qwen3"),
}
# Of a model without a row in the catalog: vocabularies of 128,000 to 256,000 words.
_OTHER_SCALE = 1.15
_NEWER_OPENAI = ["gpt", "codex"]  # newer than tiktoken's table, but so far with a known vocabulary
MODEL_ENCODINGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("o1", "o3", "o4-mini", "gpt-5", "gpt-4.5", "gpt-4.1"), "o200k_base"),
        **dict.fromkeys(("gpt-4o", "chatgpt-4o"), "o200k_base"),
        "gpt-oss": "o200k_harmony",
        **dict.fromkeys(("gpt-4", "gpt-3.5", "gpt-35"), "cl100k_base"),
        **dict.fromkeys(("davinci-002", "babbage-002"), "cl100k_base"),
        **dict.fromkeys(("text-embedding-ada-002", "text-embedding-3-small"), "cl100k_base"),
        **dict.fromkeys(("text-embedding-3-large", "claude", "default"), "cl100k_base"),
    }
)
"""Maps the start of a model's name to its encoding; `default` is for all others. Claude's
vocabulary is not public: its entry is a stand-in, and `for_model` is more accurate. Read-only."""
_ANY_VERSION = ["gpt-5"]  # tiktoken 0.14 states its encoding of gpt-5.1 and of all that follow


@attrs.frozen
class ModelCounter:
    """A counter, and how well it fits one model."""

    model: str
    """The name that was passed."""
    counter: Counter = attrs.field()
    """The counter in use."""
    is_exact: bool
    """Whether it is the model's own tokenizer. The overhead of messages is not included even so."""
    description: str
    """A sentence for people: what counts, and how large the error may be."""

    media_costs: MediaCosts = attrs.field(
        default=attrs.Factory(lambda self: _lookup.media_costs(self.model), takes_self=True),
        repr=False,
    )
    """What images, documents and recordings cost with the model."""

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        must_count("counter", value)

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return self.counter.count(text)

    def count_media(self, media: Media, /) -> int:
        """Return the number of tokens of an image, a document or a recording."""
        return count_media(media, self.media_costs, self.counter.count)


def for_model(model: str) -> ModelCounter:
    """Return the best installed counter for a model, given its name as any provider spells it.

    >>> counter = for_model("gpt-5-mini")
    >>> counter.count("Hello, world!"), counter.description
    (4, 'exact: o200k_base by quicktok')
    >>> for_model("anthropic/claude-sonnet-4-5").description
    'estimated: no vocabulary for this model is available; o200k_base times 1.3'

    A provider's own count is even better if there is one: the Deciders' `count_tokens`, and the
    usage of the last reply, which `ContextMeter` is based on.

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    # First, because `claude` has an encoding, too, which is only a stand-in.
    if scale := token_scale(model):
        return _estimated(model, scale)
    if name := longest_name(model, _OPEN):
        return _exact(model, _OPEN[name]) or _estimated(model, _OTHER_SCALE)
    if encoding := _known_encoding(model):
        return _exact(model, encoding) or _estimated(model, 1.0, encoding)
    if longest_beginning(model, _NEWER_OPENAI) and (stand_in := _exact(model, "o200k_base")):
        sentence = f"probably {stand_in.description}, as for the models before it"
        return attrs.evolve(stand_in, is_exact=False, description=sentence)
    return _estimated(model, _OTHER_SCALE)


def _known_encoding(model: str) -> str | None:
    """Return the encoding that tiktoken states for exactly this version of a model.

    >>> _known_encoding("gpt-4"), _known_encoding("gpt-4.9"), _known_encoding("gpt-5.9")
    ('cl100k_base', None, 'o200k_base')
    """
    name = longest_name(model, MODEL_ENCODINGS) or longest_beginning(model, _ANY_VERSION)
    return MODEL_ENCODINGS[name] if name else None


def _exact(model: str, encoding: str) -> ModelCounter | None:
    """Return a counter with the model's own vocabulary, if one is installed and can be loaded."""
    try:
        return _made(model, QuicktokCounter(encoding), f"{encoding} by quicktok")
    except ImportError:
        pass
    try:
        counter = TiktokenCounter(encoding)
    except (ImportError, ConfigError):  # ConfigError: an open vocabulary, which needs quicktok
        return None
    if counter.is_exact:
        return _made(model, counter, f"{encoding} by tiktoken")
    return None


def _made(model: str, counter: Counter, by: str) -> ModelCounter:
    return ModelCounter(model, counter, is_exact=True, description=f"exact: {by}")


def _estimated(model: str, scale: float, encoding: str = "") -> ModelCounter:
    counter = EstimateCounter(scale)
    if encoding:
        remedy = _imports.pip_install("agentic-weave[context]")
        reason = f"no tokenizer of {encoding} is installed ({remedy})"
    else:
        reason = f"no vocabulary for this model is available; o200k_base times {scale}"
    return ModelCounter(model, counter, is_exact=False, description=f"estimated: {reason}")


def get_encoding(model: str) -> str:
    """Return the name of a model's encoding, using the longest matching start of its name.

    >>> get_encoding("openrouter/openai/gpt-4.1-mini")
    'o200k_base'
    >>> get_encoding("gpt-4-turbo")
    'cl100k_base'
    >>> get_encoding("my-model")
    'cl100k_base'
    """
    check_name(model)
    return MODEL_ENCODINGS[longest_beginning(model, MODEL_ENCODINGS) or "default"]


# Entry points of other systems

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

    def count(self, text: str, /) -> int:
        """Return the number of tokens of one text."""
        return self._counter.count(text)

    @_counter.default
    def _pick(self) -> Counter:
        if self.method == "tiktoken":
            return for_model(self.model)
        if self.method == "transformers":
            return TokenizersCounter(self.tokenizer) if self.tokenizer else EstimateCounter()
        if self.method == "chars":
            return CharCounter()
        names = "'tiktoken', 'transformers', 'chars'"
        raise ConfigError("method", self.method, names, "or pass any object with count(text)")


def _count_with_role(message: AnyMessage, counter: Counter, media: int = _MEDIA) -> int:
    role = message.role if isinstance(message, Message) else message.get("role", "")
    tokens = count_message_tokens(message, counter, per_message_overhead=0, tokens_per_media=media)
    return counter.count(str(role)) + tokens
