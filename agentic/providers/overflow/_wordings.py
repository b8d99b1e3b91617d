"""Patterns for texts which say that a request does not fit, and for those which only seem to.

The texts are normalized by `_error_text.spell`: lower case, no quotes, no thousands separators.
Every gap in a pattern is bounded, so that matching takes time linear in the length of a text.

The errors that servers were seen to send are in `tests/providers/overflow_errors.jsonl`: one line
for each, verbatim, with the address of a page that quotes it, the name of the pattern that must
match it, and the sizes that must be read from it.
"""

import re
from collections.abc import Mapping

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

OVERFLOWS: Mapping[str, re.Pattern[str]] = {
    # Variants of OpenAI's sentence, which most compatible servers have adopted.
    "maximum context": re.compile(
        r"maximum context length"
        r"|max(?:imum)? (?:prompt|sequence|model|input|context) (?:length|window|size)"
        r"(?: of [^ ]{1,80})?(?: is|:) ?\d"
        r"|model max length exceeded|less than (?:or equal to )?max_(?:seq|model)_len"
    ),
    # llama.cpp, MiniMax, z.ai, and the name of LiteLLM's exception.
    "context exceeded": re.compile(
        r"context[ _]?(?:length|size|window|limit)?[ _]?(?:limit )?(?:has been |was |is )?"
        r"(?:exceed(?:ed|s)|overflow)"
        r"|exceed_context"
        r"|context[ _](?:length |size |window |token )?limit (?:has been |was |is )?reached"
        r"|reached (?:its|the) (?:maximum )?context (?:length|size|window|limit)"
    ),
    # A verb and the limit that is exceeded. Go's "context deadline exceeded" is a timeout.
    "exceeds context": re.compile(
        r"(?:(?:exceed(?:s|ed|ing)?|longer than|larger than|greater than|too large for"
        r"|fit (?:in|into|within))\b|\d\)? ?>)[^;:]{0,40}?"
        r"(?:\bcontext[ _-](?:len(?:gth)?|size|window|limit)|\b(?:max(?:imum)?|models?) context\b"
        r"|n_ctx\b|max_(?:seq|model)_len|max_(?:prompt|input|num)_tokens|\bmodel (?:token )?limit"
        r"|max(?:imum)? (?:allowed )?(?:input|prompt|sequence|model|message)"
        r" (?:len(?:gth)?|size|window|limit|tokens?|context|\(?\d)"
        r"|maximum number of (?:input )?tokens)"
        r"|(?:exceeds?|(?:longer|larger|greater) than) (?:[a-z]+ ){0,2}context\b"
    ),
    # z.ai and Volcengine name no context, only what is too long.
    "exceeds length": re.compile(
        r"\b(?:prompt|input|inputs|query)\b[^.;]{0,40}? exceeds? (?:the )?"
        r"(?:models? )?"
        r"(?:max(?:imum)?(?: allowed)?(?: input| token| prompt)? |token |input |prompt )"
        r"(?:length|size|limit)"
        r"|\b(?:(?:prompt|input) length|(?<!output )token count)(?:[ (:]{1,2}\d{1,12}\)?)?"
        r"(?: tokens| characters)? exceeds (?:the )?(?:models? )?(?:max|limit)"
        r"|\b(?:prompt|input|sequence) length limit exceeded"
    ),
    # (?<![a-z]) and not \b: the words may be parts of a name such as input_tokens. A limit that is
    # named after the word output or completion is the reply's own.
    "tokens exceed": re.compile(
        r"(?<![a-z])(?:input|prompt|request(?:ed)?|total)(?![a-z])"
        r"(?:(?!output|completion).){0,40}?(?<![a-z])tokens?(?![a-z])"
        r"(?:(?!output|completion).){0,60}?\b(?:exceed|above the (?:limit|maximum))"
    ),
    # Anthropic, Bedrock, Fireworks and Ollama.
    "too long": re.compile(
        r"\b(?:prompt|inputs?|context|conversation)(?: \([^)]{0,40}\))?(?: is| are| was)? too "
        r"(?:long|large|big)\b"
        r"|length of all messages is too long|prompt_too_long|token length too long"
    ),
    # Cohere and Amazon's Titan. Bedrock's rate limit begins alike: see below.
    "too many tokens": re.compile(r"too many (?:input |prompt )?tokens"),
    # All that Groq says.
    "reduce length": re.compile(
        r"reduce (?:the |your )?(?:length|size|number of tokens) (?:of|in) (?:the |your )?"
        r"(?:input|messages?|prompt|conversation|context|either)"
        # "reduce the prompt length or the maximum tokens requested" is Anthropic's rate limit.
        r"|reduce (?:the |your )?prompt\b(?! length or)|reduce the input (?:size|token)"
    ),
    # A limit that is named by its number: Qwen, Vertex, Together, Snowflake.
    "over the limit": re.compile(
        r"inputs must have less than \d+ tokens"
        r"|range of (?:input|total) length should be"
        r"|input token count is \d+ but .{0,40}?supports up to"
        r"|supports at most \d+ tokens\b.{1,20}?\b(?:request|prompt|input|messages)\b"
        r"|too large for .{1,80}? model\. max size: \d+ tokens"
        r"|max tokens of \d+ exceeded|tokens? in request more than max tokens? allowed"
        r"|(?<!output )token (?:limit|count) (?:was |has been )?exceeded"
        r"|\b(?:inputs?|prompt)\b.{0,30}? \+ .{1,30}?(?:must be|longer than|exceeds?)"
    ),
    # LM Studio; Bedrock, which counts bytes of Claude's and characters of Titan's requests; vLLM
    # 0.15, which reports what the prompt leaves of the window as a negative max_tokens.
    "other words": re.compile(
        r"context the overflows|n_keep.{1,20}?>= ?n_ctx|context (?:length|size) (?:of |is )only \d"
        r"|configured context size is \d|prompt is ?\d+ ?tokens and the context window"
        r"|too many total text bytes|\bprompt: length: 1\.\.\d"
        r"|malformed input request: (?:#/(?:prompt|inputtext|message): )?expected maxlength: \d"
        r"|max_tokens must be at least 1,? got -\d|ran out of room in the models? context"
    ),
    "Chinese": re.compile(
        r"上下文.{0,8}(?:过长|超[过出限长])|超[过出]?.{0,8}(?:上下文|最大.{0,4}长度)"
        r"|(?:prompt|输入|tokens?) ?.{0,4}(?:超长|过长|超[过出限])"
    ),
}
"""The request does not fit."""

OTHER_ERRORS: Mapping[str, re.Pattern[str]] = {
    # OpenAI and Groq call a request too large that exceeds the allowance for a minute.
    "rate": re.compile(
        r"rate[ _-]?limit|rate increased|too many requests|throttl|\btp[md]\b|\bquota|usage limit"
        r"|\bper[ -](?:second|min(?:ute)?|hour|day|week|month)\b|(?:hourly|daily|weekly|monthly) "
        r"|please wait|try again (?:later|in)\b|retry after|tokens processed|resource_?exhausted"
    ),
    # The lookahead excludes an option or a call named timeout: "timeout=600", "timeout: 600",
    # "timeout(".
    "time": re.compile(
        r"deadline[ _]?exceeded|exceeded (?:the |its )?deadline|context (?:deadline|cancell?ed)"
        r"|\btimed[ -]out\b|\btimeout(?:error)?\b(?![=(]| ?: ?\d)"
    ),
    # OpenRouter compares max_tokens with what the account can pay for.
    "money": re.compile(
        r"more credits|/credits|can only afford|billing|payment"
        r"|insufficient[ _](?:credit|balance|fund|quota)"
    ),
    # "Request body too large for gpt-4o model. Max size: 8000 tokens." (GitHub Models) is an
    # overflow: the number says what is measured.
    "body": re.compile(
        r"request exceeds the maximum (?:allowed )?(?:size|number of bytes)|message larger than max"
        r"|(?:request|payload|content|entity|body)(?: is)? too large(?!.{0,120}\d tokens)"
        r"|(?<!context )(?<!prompt )(?<!input )(?<!sequence )length limit exceeded"
        r"|\b\d+(?:\.\d+)? ?(?:bytes|[km]i?b)\b|string value length|(?:string|array) too long"
    ),
    # Anthropic limits the number of images and pages.
    "parts": re.compile(
        r"too many (?:images|documents|files|tools|functions|messages)"
        r"|image (?:size |dimensions? )?exceeds?|image token(?:s| count) exceeds?(?!.{0,60}context)"
        r"|image (?:is )?too (?:large|big)"
        r"|(?:maximum of|at most|up to) \d+ (?:pdf )?"
        r"(?:pages|images?|files|documents|tools|functions)"
        r"|(?:tool|function|property|name|description|id|key|label|user|metadata)s?"
        r"(?: is)? too long"
    ),
    # The server was started with a larger window than its model has; no smaller request helps.
    "server": re.compile(r"n_ctx_train|requested context size too large"),
    # Errors about a limit on the output or its budget. They are worded like an overflow, but a
    # smaller request does not help.
    "output limit": re.compile(
        r"supports at most \d+ completion|which is the maximum allowed number of output tokens"
        r"|(?<!\+ )max_(?:new_|completion_|output_)?tokens(?: ?\(\d+\)|:)? "
        r"(?:must be|cannot exceed|should be|has to be|input should)(?! at least 1,? got -)"
        r"|max tokens must be less than or equal to \d+, the maximum output"
        rf"|{_OUTPUT_ALONE}"
        r"|maximum tokens you requested exceed|range of max_tokens|integer (?:above|below)"
        r"|max_output_?tokens.{1,80}?(?:supported range|exclusive)"
        r"|max_(?:completion_)?tokens is too large(?!.{1,80}context)|use max_completion_tokens"
    ),
}
"""Tokens, length or size are mentioned, but the request would fit.

Compacting the history after one of these would destroy it without fixing anything: a rate limit
passes with time, a body is measured in bytes, an output limit means a wrong option, an image is too
large by itself, and a timeout says nothing about size.
"""
