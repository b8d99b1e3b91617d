"""Patterns, shared by many servers, for texts which say that a request does not fit.

The texts are normalized by `_error_text.spell`: lower case, no quotes, no thousands separators.
Every gap in a pattern is bounded, so that matching takes time linear in the length of a text.
"""

import re

import attrs

from agentic.providers.overflow._error_text import Overflow

__all__ = [
    "CHINESE",
    "CONTEXT_EXCEEDED",
    "EXCEEDS_CONTEXT",
    "EXCEEDS_LENGTH",
    "MAXIMUM_CONTEXT",
    "NEGATIVE_OUTPUT",
    "OTHER_WORDS",
    "OVER_THE_LIMIT",
    "REDUCE_LENGTH",
    "TOKENS_EXCEED",
    "TOO_LONG",
    "TOO_MANY_TOKENS",
    "Wording",
]

MAXIMUM_CONTEXT = re.compile(
    r"maximum context length"
    r"|max(?:imum)? (?:prompt|sequence|model|input|context) (?:length|window|size)"
    r"(?: of [^ ]{1,80})?(?: is|:) ?\d"
    r"|model max length exceeded|less than (?:or equal to )?max_(?:seq|model)_len"
)
"""Variants of OpenAI's sentence, which most compatible servers have adopted."""

CONTEXT_EXCEEDED = re.compile(
    r"context[ _]?(?:length|size|window|limit)?[ _]?(?:limit )?(?:has been |was |is )?"
    r"(?:exceed(?:ed|s)|overflow)"
    r"|exceed_context"
    r"|context[ _](?:length |size |window |token )?limit (?:has been |was |is )?reached"
    r"|reached (?:its|the) (?:maximum )?context (?:length|size|window|limit)"
)

EXCEEDS_CONTEXT = re.compile(
    r"(?:(?:exceed(?:s|ed|ing)?|longer than|larger than|greater than|too large for"
    r"|fit (?:in|into|within))\b|\d\)? ?>)[^;:]{0,40}?"
    r"(?:\bcontext[ _-](?:len(?:gth)?|size|window|limit)|\b(?:max(?:imum)?|models?) context\b"
    r"|n_ctx\b|max_(?:seq|model)_len|max_(?:prompt|input|num)_tokens|\bmodel (?:token )?limit"
    r"|max(?:imum)? (?:allowed )?(?:input|prompt|sequence|model|message)"
    r" (?:len(?:gth)?|size|window|limit|tokens?|context|\(?\d)"
    r"|maximum number of (?:input )?tokens)"
    r"|(?:exceeds?|(?:longer|larger|greater) than) (?:[a-z]+ ){0,2}context\b"
)
"""A verb and the limit that is exceeded. Go's "context deadline exceeded" is a timeout."""

EXCEEDS_LENGTH = re.compile(
    r"\b(?:prompt|input|inputs|query)\b[^.;]{0,40}? exceeds? (?:the )?"
    r"(?:models? )?(?:max(?:imum)?(?: allowed)?(?: input| token| prompt)? |token |input |prompt )"
    r"(?:length|size|limit)"
    r"|\b(?:(?:prompt|input) length|(?<!output )token count)(?:[ (:]{1,2}\d{1,12}\)?)?"
    r"(?: tokens| characters)? exceeds (?:the )?(?:models? )?(?:max|limit)"
    r"|\b(?:prompt|input|sequence) length limit exceeded"
)

# (?<![a-z]) and not \b: the words may be parts of a name such as input_tokens. A limit that
# is named after the word output or completion is the reply's own.
TOKENS_EXCEED = re.compile(
    r"(?<![a-z])(?:input|prompt|request(?:ed)?|total)(?![a-z])"
    r"(?:(?!output|completion).){0,40}?(?<![a-z])tokens?(?![a-z])"
    r"(?:(?!output|completion).){0,60}?\b(?:exceed|above the (?:limit|maximum))"
)

TOO_LONG = re.compile(
    r"\b(?:prompt|inputs?|context|conversation)(?: \([^)]{0,40}\))?(?: is| are| was)? too "
    r"(?:long|large|big)\b"
    r"|length of all messages is too long|prompt_too_long|token length too long"
)

TOO_MANY_TOKENS = re.compile(r"too many (?:input |prompt )?tokens")

REDUCE_LENGTH = re.compile(
    r"reduce (?:the |your )?(?:length|size|number of tokens) (?:of|in) (?:the |your )?"
    r"(?:input|messages?|prompt|conversation|context|either)"
    # "reduce the prompt length or the maximum tokens requested" is Anthropic's rate limit.
    r"|reduce (?:the |your )?prompt\b(?! length or)|reduce the input (?:size|token)"
)

OVER_THE_LIMIT = re.compile(
    r"inputs must have less than \d+ tokens"
    r"|range of (?:input|total) length should be"
    r"|input token count is \d+ but .{0,40}?supports up to"
    r"|supports at most \d+ tokens\b.{1,20}?\b(?:request|prompt|input|messages)\b"
    r"|too large for .{1,80}? model\. max size: \d+ tokens"
    r"|max tokens of \d+ exceeded|tokens? in request more than max tokens? allowed"
    r"|(?<!output )token (?:limit|count) (?:was |has been )?exceeded"
    r"|\b(?:inputs?|prompt)\b.{0,30}? \+ .{1,30}?(?:must be|longer than|exceeds?)"
)

OTHER_WORDS = re.compile(
    r"context the overflows|n_keep.{1,20}?>= ?n_ctx|context (?:length|size) (?:of |is )only \d"
    r"|configured context size is \d|prompt is ?\d+ ?tokens and the context window"
    r"|too many total text bytes|\bprompt: length: 1\.\.\d"
    r"|malformed input request: (?:#/(?:prompt|inputtext|message): )?expected maxlength: \d"
    r"|max_tokens must be at least 1,? got -\d|ran out of room in the models? context"
)

# The output as the subject of a sentence: not as a summand, and not together with the input.
_OUTPUT_ALONE = (
    r"(?:^|[.:;])(?:(?!prompt|input|messages| and | plus |\+|\d,).){0,60}?"
    r"\b(?:(?:output|completion|generated) tokens?|tokens generated"
    r"|max_?tokens|max(?:imum)?[ _]?(?:new|completion|output)[ _]?tokens"
    r"|(?:(?:thinking|reasoning|token)[ _])?budget(?:_tokens)?)"
    r"(?: count| value| parameter)?[ :=(]{0,3}\d{0,12}\)? ?"
    r"(?:exceed|(?:is|are|cannot be) (?:greater|larger|more) than|>(?! ?0))"
    r"(?!.{0,30}\bremaining context)"
    r"(?!(?=.{0,120}\bcontext\b).{0,120}\b(?:input|prompt|messages)\b)"
)

NEGATIVE_OUTPUT = re.compile(
    r"supports at most \d+ completion|which is the maximum allowed number of output tokens"
    r"|(?<!\+ )max_(?:new_|completion_|output_)?tokens(?: ?\(\d+\)|:)? "
    r"(?:must be|cannot exceed|should be|has to be|input should)(?! at least 1,? got -)"
    r"|max tokens must be less than or equal to \d+, the maximum output"
    rf"|{_OUTPUT_ALONE}"
    r"|maximum tokens you requested exceed|range of max_tokens|integer (?:above|below)"
    r"|max_output_?tokens.{1,80}?(?:supported range|exclusive)"
    r"|max_(?:completion_)?tokens is too large(?!.{1,80}context)|use max_completion_tokens"
)
"""Errors about a limit on the output or its budget. They are worded like an overflow, but a smaller
request does not help."""

CHINESE = re.compile(
    r"上下文.{0,8}(?:过长|超[过出限长])|超[过出]?.{0,8}(?:上下文|最大.{0,4}长度)"
    r"|(?:prompt|输入|tokens?) ?.{0,4}(?:超长|过长|超[过出限])"
)


@attrs.frozen
class Wording:
    """One observed error of a server."""

    server: str
    wording: re.Pattern[str]
    """The pattern that must match the error. Several servers may share it."""
    says: str
    """A real error message, verbatim."""
    source: str
    """The address of a page that quotes the message, or of the provider's documentation."""
    sizes: Overflow = attrs.field(factory=Overflow)
    """The sizes that must be read from the message."""
