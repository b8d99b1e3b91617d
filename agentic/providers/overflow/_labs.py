"""What those who train a model and serve it answer to a request that is too large."""

from agentic.providers.overflow._overflow import Overflow
from agentic.providers.overflow._row import Row
from agentic.providers.overflow._wordings import (
    CHINESE,
    CONTEXT_EXCEEDED,
    EXCEEDS_CONTEXT,
    EXCEEDS_LENGTH,
    MAXIMUM_CONTEXT,
    OVER_THE_LIMIT,
    REDUCE_LENGTH,
    TOKENS_EXCEED,
    TOO_LONG,
    TOO_MANY_TOKENS,
)

__all__ = ["LABS"]

LABS = (
    Row(
        "openai",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "204308 tokens. Please reduce the length of the messages.",
        "https://github.com/webtimemachine/wtm2/issues/579",
        Overflow(204_308, 128_000),
    ),
    Row(
        "openai, with the output",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 4097 tokens. However, you requested 4120 tokens "
        "(3120 in the messages, 1000 in the completion). Please reduce the length of the messages "
        "or completion.",
        "https://github.com/mckaywrigley/chatbot-ui/issues/102",
        Overflow(4_120, 4_097),
    ),
    Row(
        "openai, completions",
        REDUCE_LENGTH,
        "This model's maximum context length is 4097 tokens, however you requested 4569 tokens "
        "(3545 in your prompt; 1024 for the completion). Please reduce your prompt; or completion "
        "length.",
        "https://github.com/AstrBotDevs/AstrBot/issues/1",
        Overflow(4_569, 4_097),
    ),
    Row(
        "openai, responses",
        EXCEEDS_CONTEXT,
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        "https://github.com/VectorlyApp/bluebox/issues/66",
    ),
    Row(
        "openai, gpt-5",
        TOKENS_EXCEED,
        "Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in "
        "290,812 tokens. Please reduce the length of the messages.",
        "https://github.com/bytedance/deer-flow/issues/721",
        Overflow(290_812, 272_000),
    ),
    Row(
        "anthropic",
        TOO_LONG,
        "prompt is too long: 219898 tokens > 200000 maximum",
        "https://github.com/earendil-works/pi/issues/102",
        Overflow(219_898, 200_000),
    ),
    Row(
        "anthropic, with the output",
        EXCEEDS_CONTEXT,
        "input length and `max_tokens` exceed context limit: 184915 + 20000 > 204648, decrease "
        "input length or `max_tokens` and try again",
        "https://github.com/anthropics/claude-code/issues/228",
        Overflow(204_915, 204_648),
    ),
    Row(
        "anthropic, as 413",
        EXCEEDS_CONTEXT,
        "Request size exceeds model context window",
        "https://github.com/anthropics/claude-code/issues/6380",
    ),
    Row(
        "gemini",
        TOKENS_EXCEED,
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        "https://github.com/google-gemini/gemini-cli/issues/6678",
        Overflow(1_200_293, 1_048_576),
    ),
    Row(
        "gemini, without its count",
        EXCEEDS_CONTEXT,
        "The input token count exceeds the maximum number of tokens allowed (1048576).",
        "https://github.com/arkavo-org/arkavo-edge/issues/371",
        Overflow(None, 1_048_576),
    ),
    Row(
        "mistral",
        EXCEEDS_CONTEXT,
        "Prompt contains 170397 tokens and 0 draft tokens, too large for model with 131072 maximum "
        "context length",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
        Overflow(170_397, 131_072),
    ),
    Row(
        "deepseek",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 131072 tokens. However, you requested 131134 "
        "tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the "
        "messages or completion.",
        "https://github.com/evalstate/fast-agent/issues/621",
        Overflow(131_134, 131_072),
    ),
    Row(
        "xai",
        MAXIMUM_CONTEXT,
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        "https://github.com/cline/cline/issues/3120",
        Overflow(136_973, 131_072),
    ),
    Row(
        "cohere",
        TOO_MANY_TOKENS,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. "
        "Try using a shorter prompt, or enabling prompt truncating.",
        "https://docs.cohere.com/reference/errors",
        Overflow(4_292, 4_081),
    ),
    Row(
        "cohere, v2",
        TOO_MANY_TOKENS,
        "too many tokens: size limit exceeded by 168512 tokens. The limit for this model is 132000 "
        "tokens.",
        "https://docs.cohere.com/reference/errors",
        Overflow(None, 132_000),
    ),
    Row(
        "moonshot",
        MAXIMUM_CONTEXT,
        "model max length exceeded, max length:8192",
        "https://github.com/MoonshotAI/MoonshotAI-Cookbook/issues/18",
        Overflow(None, 8_192),
    ),
    Row(
        "kimi",
        EXCEEDS_CONTEXT,
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "https://github.com/MoonshotAI/kimi-cli/issues/2011",
        Overflow(269_030, 262_144),
    ),
    Row(
        "zai",
        EXCEEDS_LENGTH,
        "Prompt exceeds max length",
        "https://github.com/zeroclaw-labs/zeroclaw/issues/4124",
    ),
    Row(
        "zai, in Chinese",
        CHINESE,
        "Prompt 超长",
        "https://github.com/anomalyco/opencode",
    ),
    Row(
        "zai, 1210",
        OVER_THE_LIMIT,
        "tokens in request more than max tokens allowed",
        "https://github.com/openclaw/openclaw",
    ),
    Row(
        "zai, as anthropic",
        CONTEXT_EXCEEDED,
        "API Error: The model has reached its context window limit.",
        "https://github.com/dejay2/glmproxy/issues/5",
    ),
    Row(
        "minimax",
        CONTEXT_EXCEEDED,
        "invalid params, context window exceeds limit (2013)",
        "https://github.com/MiniMax-AI/MiniMax-M2/issues/119",
    ),
    Row(
        "qwen",
        OVER_THE_LIMIT,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        "https://github.com/QwenLM/qwen-code/issues/98",
        Overflow(None, 204_800),
    ),
    Row(
        "qwen, with the output",
        OVER_THE_LIMIT,
        "Input tokens length is 29618. Output tokens length is 8192. Range of total length should "
        "be less than or equal to 32768",
        "https://github.com/FoundationAgents/OpenManus/issues/935",
        Overflow(37_810, 32_768),
    ),
    Row(
        "doubao",
        EXCEEDS_CONTEXT,
        "Total tokens of image and text exceed max message tokens.",
        "https://www.answeroverflow.com/m/1469215145874948199",
    ),
)
