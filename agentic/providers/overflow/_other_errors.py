"""Errors that must not be taken for an overflow although they mention tokens, length or size.

Compacting the history after one of these would destroy it without fixing anything: a rate limit
passes with time, a body is measured in bytes, an output limit means a wrong option, an image is too
large by itself, and a timeout says nothing about size.
"""

import re

from agentic.providers.overflow._wordings import NEGATIVE_OUTPUT, Wording

__all__ = ["OTHER_ERRORS"]

_RATE = re.compile(
    r"rate[ _-]?limit|rate increased|too many requests|throttl|\btp[md]\b|\bquota|usage limit"
    r"|\bper[ -](?:second|min(?:ute)?|hour|day|week|month)\b|(?:hourly|daily|weekly|monthly) "
    r"|please wait|try again (?:later|in)\b|retry after|tokens processed|resource_?exhausted"
)

# The lookahead excludes an option or a call named timeout: "timeout=600", "timeout: 600",
# "timeout(".
_TIME = re.compile(
    r"deadline[ _]?exceeded|exceeded (?:the |its )?deadline|context (?:deadline|cancell?ed)"
    r"|\btimed[ -]out\b|\btimeout(?:error)?\b(?![=(]| ?: ?\d)"
)

_MONEY = re.compile(
    r"more credits|/credits|can only afford|billing|payment"
    r"|insufficient[ _](?:credit|balance|fund|quota)"
)

# "Request body too large for gpt-4o model. Max size: 8000 tokens." (GitHub Models) is an
# overflow: the number says what is measured.
_BODY = re.compile(
    r"request exceeds the maximum (?:allowed )?(?:size|number of bytes)|message larger than max"
    r"|(?:request|payload|content|entity|body)(?: is)? too large(?!.{0,120}\d tokens)"
    r"|(?<!context )(?<!prompt )(?<!input )(?<!sequence )length limit exceeded"
    r"|\b\d+(?:\.\d+)? ?(?:bytes|[km]i?b)\b|string value length|(?:string|array) too long"
)

_PARTS = re.compile(
    r"too many (?:images|documents|files|tools|functions|messages)"
    r"|image (?:size |dimensions? )?exceeds?|image token(?:s| count) exceeds?(?!.{0,60}context)"
    r"|image (?:is )?too (?:large|big)"
    r"|(?:maximum of|at most|up to) \d+ (?:pdf )?(?:pages|images?|files|documents|tools|functions)"
    r"|(?:tool|function|property|name|description|id|key|label|user|metadata)s?(?: is)? too long"
)

# The server was started with a larger window than its model has; no smaller request helps.
_SERVER = re.compile(r"n_ctx_train|requested context size too large")

OTHER_ERRORS = (
    Wording(
        "bedrock, throttled",
        _RATE,
        "Too many tokens, please wait before trying again.",
        "https://github.com/RooCodeInc/Roo-Code/issues/5050",
    ),
    Wording(
        "bedrock, a day's quota",
        _RATE,
        "Too many tokens per day, please wait before trying again.",
        "https://github.com/anomalyco/opencode/issues/13015",
    ),
    Wording(
        "cerebras, a minute's quota",
        _RATE,
        "Tokens per minute limit exceeded - too many tokens processed.",
        "https://github.com/anomalyco/opencode/issues/13015",
    ),
    Wording(
        "openai, a minute's quota",
        _RATE,
        "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The "
        "input or output tokens must be reduced in order to run successfully.",
        "https://github.com/vanna-ai/vanna-flask/issues/11",
    ),
    Wording(
        "groq, a minute's quota",
        _RATE,
        "Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service "
        "tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce "
        "your message size and try again.",
        "https://github.com/continuedev/continue/issues/10218",
    ),
    Wording(
        "anthropic, a minute's quota",
        _RATE,
        "This request would exceed the rate limit for your organization of 20,000 input tokens per "
        "minute. Please reduce the prompt length or the maximum tokens requested, or try again "
        "later.",
        "https://github.com/FoundationAgents/OpenManus/issues/746",
    ),
    Wording(
        "ollama, a timeout",
        _TIME,
        "ollama: context deadline exceeded",
        "https://github.com/nextlevelbuilder/goclaw/issues/926",
    ),
    Wording(
        "ollama, given up",
        _TIME,
        "error getting response from LLM: context canceled",
        "https://github.com/icereed/paperless-gpt/issues/454",
    ),
    Wording(
        "ollama, its own setting",
        _SERVER,
        'msg="requested context size too large for model" num_ctx=8192 n_ctx_train=2048',
        "https://github.com/open-webui/open-webui/issues/26457",
    ),
    Wording(
        "openrouter, no credit",
        _MONEY,
        "This request requires more credits, or fewer max_tokens. You requested up to 65536 "
        "tokens, but can only afford 1200.",
        "https://github.com/can1357/oh-my-pi/issues/9569",
    ),
    Wording(
        "anthropic, the body",
        _BODY,
        "Request exceeds the maximum size",
        "https://github.com/anthropics/anthropic-sdk-python/issues/938",
    ),
    Wording(
        "copilot, the body",
        _BODY,
        "Request Entity Too Large",
        "https://github.com/anomalyco/opencode/issues/14064",
    ),
    Wording(
        "text-generation-inference, the body",
        _BODY,
        "Failed to buffer the request body: length limit exceeded",
        "https://github.com/huggingface/text-generation-inference/issues/1802",
    ),
    Wording(
        "openai, one text",
        _BODY,
        "Invalid 'messages[17].content': string too long. Expected a string with maximum length "
        "1048576, but got a string with length 1744259 instead.",
        "https://github.com/gptscript-ai/clio/issues/41",
    ),
    Wording(
        "qwen, one text",
        _BODY,
        "String value length (20054016) exceeds the maximum allowed (20000000, from "
        "`StreamReadConstraints.getMaxStringLength()`)",
        "https://github.com/QwenLM/qwen-code/issues/747",
    ),
    Wording(
        "anthropic, images",
        _PARTS,
        "too many images and documents: 104 + 1 > 100",
        "https://github.com/anthropics/claude-code/issues/23392",
    ),
    Wording(
        "anthropic, pages",
        _PARTS,
        "messages.38.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.",
        "https://github.com/anthropics/claude-code/issues/6231",
    ),
    Wording(
        "openai, the output",
        NEGATIVE_OUTPUT,
        "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, "
        "whereas you provided 6000.",
        "https://github.com/diffbot/code-gpt-docs/issues/284",
    ),
    Wording(
        "anthropic, the output",
        NEGATIVE_OUTPUT,
        "max_tokens: 1000000 > 64000, which is the maximum allowed number of output tokens for "
        "claude-sonnet-4-20250514",
        "https://github.com/OpenHands/OpenHands/issues/11090",
    ),
    Wording(
        "bedrock, the output",
        NEGATIVE_OUTPUT,
        "The maximum tokens you requested exceeds the model limit of 2048. Try again with a "
        "maximum tokens value that is lower than 2048.",
        "https://github.com/aws-samples/bedrock-access-gateway/issues/41",
    ),
    Wording(
        "bedrock, the output, in other words",
        NEGATIVE_OUTPUT,
        "The maximum tokens you requested exceed the model limit of 4096. Try again with a maximum "
        "tokens value lower than 4096.",
        "https://github.com/RooCodeInc/Roo-Code/issues/248",
    ),
    Wording(
        "groq, the output",
        NEGATIVE_OUTPUT,
        "max_tokens must be less than or equal to 16384, the maximum value for max_tokens is less "
        "than the context_window for this model",
        "https://github.com/RooCodeInc/Roo-Code/issues/5729",
    ),
    Wording(
        "cohere, the output",
        NEGATIVE_OUTPUT,
        "too many tokens: max tokens must be less than or equal to 4096, the maximum output for "
        "this model - received 8192.",
        "https://docs.cohere.com/reference/errors",
    ),
    Wording(
        "databricks, the output",
        NEGATIVE_OUTPUT,
        "max_tokens (10000) cannot exceed 8192. Please reduce the length of max output tokens "
        "generated.",
        "https://github.com/databricks/databricks-sdk-go/issues/1183",
    ),
    Wording(
        "text-generation-inference, the output",
        NEGATIVE_OUTPUT,
        "Input validation error: `max_new_tokens` must be <= 192. Given: 1000",
        "https://github.com/huggingface/transformers/issues/28523",
    ),
)
