"""The errors of labs, clouds and gateways for a request that is too large."""

from agentic.providers.overflow._error_text import Overflow
from agentic.providers.overflow._wordings import (
    CHINESE,
    CONTEXT_EXCEEDED,
    EXCEEDS_CONTEXT,
    EXCEEDS_LENGTH,
    MAXIMUM_CONTEXT,
    OTHER_WORDS,
    OVER_THE_LIMIT,
    REDUCE_LENGTH,
    TOKENS_EXCEED,
    TOO_LONG,
    TOO_MANY_TOKENS,
    Wording,
)

__all__ = ["CLOUDS", "LABS"]

LABS = (
    Wording(
        "openai",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "204308 tokens. Please reduce the length of the messages.",
        "https://github.com/webtimemachine/wtm2/issues/579",
        Overflow(204_308, 128_000),
    ),
    Wording(
        "openai, with the output",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 4097 tokens. However, you requested 4120 tokens "
        "(3120 in the messages, 1000 in the completion). Please reduce the length of the messages "
        "or completion.",
        "https://github.com/mckaywrigley/chatbot-ui/issues/102",
        Overflow(4_120, 4_097),
    ),
    Wording(
        "openai, completions",
        REDUCE_LENGTH,
        "This model's maximum context length is 4097 tokens, however you requested 4569 tokens "
        "(3545 in your prompt; 1024 for the completion). Please reduce your prompt; or completion "
        "length.",
        "https://github.com/AstrBotDevs/AstrBot/issues/1",
        Overflow(4_569, 4_097),
    ),
    Wording(
        "openai, responses",
        EXCEEDS_CONTEXT,
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        "https://github.com/VectorlyApp/bluebox/issues/66",
    ),
    Wording(
        "openai, gpt-5",
        TOKENS_EXCEED,
        "Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in "
        "290,812 tokens. Please reduce the length of the messages.",
        "https://github.com/bytedance/deer-flow/issues/721",
        Overflow(290_812, 272_000),
    ),
    Wording(
        "anthropic",
        TOO_LONG,
        "prompt is too long: 219898 tokens > 200000 maximum",
        "https://github.com/earendil-works/pi/issues/102",
        Overflow(219_898, 200_000),
    ),
    Wording(
        "anthropic, with the output",
        EXCEEDS_CONTEXT,
        "input length and `max_tokens` exceed context limit: 184915 + 20000 > 204648, decrease "
        "input length or `max_tokens` and try again",
        "https://github.com/anthropics/claude-code/issues/228",
        Overflow(204_915, 204_648),
    ),
    Wording(
        "anthropic, as 413",
        EXCEEDS_CONTEXT,
        "Request size exceeds model context window",
        "https://github.com/anthropics/claude-code/issues/6380",
    ),
    Wording(
        "gemini",
        TOKENS_EXCEED,
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        "https://github.com/google-gemini/gemini-cli/issues/6678",
        Overflow(1_200_293, 1_048_576),
    ),
    Wording(
        "gemini, without its count",
        EXCEEDS_CONTEXT,
        "The input token count exceeds the maximum number of tokens allowed (1048576).",
        "https://github.com/arkavo-org/arkavo-edge/issues/371",
        Overflow(None, 1_048_576),
    ),
    Wording(
        "mistral",
        EXCEEDS_CONTEXT,
        "Prompt contains 170397 tokens and 0 draft tokens, too large for model with 131072 maximum "
        "context length",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
        Overflow(170_397, 131_072),
    ),
    Wording(
        "deepseek",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 131072 tokens. However, you requested 131134 "
        "tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the "
        "messages or completion.",
        "https://github.com/evalstate/fast-agent/issues/621",
        Overflow(131_134, 131_072),
    ),
    Wording(
        "xai",
        MAXIMUM_CONTEXT,
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        "https://github.com/cline/cline/issues/3120",
        Overflow(136_973, 131_072),
    ),
    Wording(
        "cohere",
        TOO_MANY_TOKENS,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. "
        "Try using a shorter prompt, or enabling prompt truncating.",
        "https://docs.cohere.com/reference/errors",
        Overflow(4_292, 4_081),
    ),
    Wording(
        "cohere, v2",
        TOO_MANY_TOKENS,
        "too many tokens: size limit exceeded by 168512 tokens. The limit for this model is 132000 "
        "tokens.",
        "https://docs.cohere.com/reference/errors",
        Overflow(None, 132_000),
    ),
    Wording(
        "moonshot",
        MAXIMUM_CONTEXT,
        "model max length exceeded, max length:8192",
        "https://github.com/MoonshotAI/MoonshotAI-Cookbook/issues/18",
        Overflow(None, 8_192),
    ),
    Wording(
        "kimi",
        EXCEEDS_CONTEXT,
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
        "https://github.com/MoonshotAI/kimi-cli/issues/2011",
        Overflow(269_030, 262_144),
    ),
    Wording(
        "zai",
        EXCEEDS_LENGTH,
        "Prompt exceeds max length",
        "https://github.com/zeroclaw-labs/zeroclaw/issues/4124",
    ),
    Wording(
        "zai, in Chinese",
        CHINESE,
        "Prompt 超长",
        "https://github.com/anomalyco/opencode",
    ),
    Wording(
        "zai, 1210",
        OVER_THE_LIMIT,
        "tokens in request more than max tokens allowed",
        "https://github.com/openclaw/openclaw",
    ),
    Wording(
        "zai, as anthropic",
        CONTEXT_EXCEEDED,
        "API Error: The model has reached its context window limit.",
        "https://github.com/dejay2/glmproxy/issues/5",
    ),
    Wording(
        "minimax",
        CONTEXT_EXCEEDED,
        "invalid params, context window exceeds limit (2013)",
        "https://github.com/MiniMax-AI/MiniMax-M2/issues/119",
    ),
    Wording(
        "qwen",
        OVER_THE_LIMIT,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        "https://github.com/QwenLM/qwen-code/issues/98",
        Overflow(None, 204_800),
    ),
    Wording(
        "qwen, with the output",
        OVER_THE_LIMIT,
        "Input tokens length is 29618. Output tokens length is 8192. Range of total length should "
        "be less than or equal to 32768",
        "https://github.com/FoundationAgents/OpenManus/issues/935",
        Overflow(37_810, 32_768),
    ),
    Wording(
        "doubao",
        EXCEEDS_CONTEXT,
        "Total tokens of image and text exceed max message tokens.",
        "https://www.answeroverflow.com/m/1469215145874948199",
    ),
)
"""Errors of companies that serve the models they train."""

CLOUDS = (
    Wording(
        "azure",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "8227 tokens. Please reduce the length of the messages.",
        "https://github.com/crewAIInc/crewAI-examples/issues/121",
        Overflow(8_227, 8_192),
    ),
    Wording(
        "bedrock",
        TOO_LONG,
        "An error occurred (ValidationException) when calling the Converse operation: Input is too "
        "long for requested model.",
        "https://github.com/aws-samples/bedrock-chat/issues/95",
    ),
    Wording(
        "bedrock, claude",
        OTHER_WORDS,
        "The model returned the following errors: too many total text bytes",
        "https://github.com/open-webui/open-webui/issues/11620",
    ),
    Wording(
        "bedrock, in characters",
        OTHER_WORDS,
        "An error occurred (ValidationException) when calling the InvokeModel operation: Malformed "
        "input request: expected maxLength: 42000, actual: 46735, please reformat your input and "
        "try again.",
        "https://github.com/ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
    ),
    Wording(
        "bedrock, nova",
        TOKENS_EXCEED,
        "The model returned the following errors: Input Tokens Exceeded: Number of input tokens "
        "exceeds maximum length. Please update the input to try again.",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
    ),
    Wording(
        "bedrock, llama",
        MAXIMUM_CONTEXT,
        "The model returned the following errors: This model's maximum context length is 131072 "
        "tokens. Please reduce the length of the prompt",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
        Overflow(None, 131_072),
    ),
    Wording(
        "bedrock, titan",
        TOO_MANY_TOKENS,
        "Too many input tokens. Max input tokens: 8192, request input token count: 9300",
        "https://github.com/agno-agi/agno",
        Overflow(9_300, 8_192),
    ),
    Wording(
        "bedrock, mantle",
        TOKENS_EXCEED,
        "prompt tokens (1200008) exceed model maximum (1050000) for openai.gpt-5.6-terra",
        "https://github.com/strands-agents/harness-sdk/issues/3718",
        Overflow(1_200_008, 1_050_000),
    ),
    Wording(
        "vertex",
        OVER_THE_LIMIT,
        "Unable to submit request because the input token count is 32825 but model only supports "
        "up to 32768. Reduce the input token count and try again.",
        "https://github.com/NousResearch/hermes-agent/issues/57275",
        Overflow(32_825, 32_768),
    ),
    Wording(
        "groq",
        REDUCE_LENGTH,
        "Please reduce the length of the messages or completion.",
        "https://github.com/langchain-ai/langchain/issues/37533",
    ),
    Wording(
        "cerebras",
        REDUCE_LENGTH,
        "Please reduce the length of the messages or completion. Current length is 42328 while "
        "limit is 40000",
        "https://github.com/cline/cline/issues/5140",
        Overflow(42_328, 40_000),
    ),
    Wording(
        "openrouter",
        MAXIMUM_CONTEXT,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "42832 tokens (42832 of text input). Please reduce the length of either one, or use the "
        '"middle-out" transform to compress your prompt automatically.',
        "https://github.com/refly-ai/refly/issues/1177",
        Overflow(42_832, 32_768),
    ),
    Wording(
        "openrouter, poolside",
        EXCEEDS_CONTEXT,
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "https://github.com/earendil-works/pi/issues/4943",
        Overflow(131_393, 131_040),
    ),
    Wording(
        "together",
        OVER_THE_LIMIT,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 "
        "`inputs` tokens and 4096 `max_new_tokens`",
        "https://github.com/BerriAI/litellm/issues/4934",
        Overflow(84_221, 4_097),
    ),
    Wording(
        "fireworks",
        TOO_LONG,
        "The prompt is too long: 140000, model maximum context length: 131071",
        "https://github.com/langchain-ai/langchain/pull/37457",
        Overflow(140_000, 131_071),
    ),
    Wording(
        "siliconflow",
        MAXIMUM_CONTEXT,
        "length of prompt_tokens (68957) must be less than max_seq_len (65536).",
        "https://github.com/chatboxai/chatbox/issues/2060",
        Overflow(68_957, 65_536),
    ),
    Wording(
        "siliconflow, with the output",
        MAXIMUM_CONTEXT,
        "max_total_tokens (172191) must be less than or equal to max_seq_len (131072)",
        "https://github.com/bytedance/deer-flow/issues/376",
        Overflow(172_191, 131_072),
    ),
    Wording(
        "sambanova",
        MAXIMUM_CONTEXT,
        "The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request "
        "will take 39732 tokens. Please reduce the length of the messages or the specified "
        "max_completion_tokens value.",
        "https://github.com/OpenHands/OpenHands/pull/9252",
        Overflow(39_732, 32_768),
    ),
    Wording(
        "cloudflare",
        EXCEEDS_CONTEXT,
        "5021: The estimated number of input and maximum output tokens (155740) exceeded this "
        "model context window limit (128000).",
        "https://github.com/UKGovernmentBEIS/inspect_ai/pull/1665",
        Overflow(155_740, 128_000),
    ),
    Wording(
        "snowflake",
        OVER_THE_LIMIT,
        "max tokens of 200000 exceeded",
        "https://github.com/posit-dev/positron/issues/11737",
        Overflow(None, 200_000),
    ),
    Wording(
        "watsonx",
        TOKENS_EXCEED,
        "Invalid input argument for Model 'meta-llama/llama-2-70b-chat': the number of input "
        "tokens 4098 cannot exceed the total tokens limit 4096 for this model",
        "https://cloud.ibm.com/apidocs/watsonx-ai",
        Overflow(4_098, 4_096),
    ),
    Wording(
        "writer",
        TOKENS_EXCEED,
        "Total number of tokens (prompt+generation) exceeded the service limit of 2048 tokens. "
        "Please make the prompt shorter or reduce the number of tokens to generate.",
        "https://github.com/stanford-crfm/helm/issues/1571",
        Overflow(None, 2_048),
    ),
    Wording(
        "github models",
        OVER_THE_LIMIT,
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "https://github.com/eslint/tsc-meetings/pull/593",
        Overflow(None, 8_000),
    ),
    Wording(
        "copilot",
        TOKENS_EXCEED,
        "prompt token count of 138898 exceeds the limit of 64000",
        "https://github.com/microsoft/copilot-intellij-feedback/issues/94",
        Overflow(138_898, 64_000),
    ),
    Wording(
        "volcengine",
        EXCEEDS_LENGTH,
        "Input length 203743 exceeds the maximum length 202752",
        "https://github.com/langgenius/dify/issues/32221",
        Overflow(203_743, 202_752),
    ),
    Wording(
        "salesforce",
        TOKENS_EXCEED,
        "Request input tokens exceed model token limit. Reduce the input size.",
        "https://github.com/forcedotcom/Einstein-GPT-for-Developers/issues/228",
    ),
    Wording(
        "litellm",
        CONTEXT_EXCEEDED,
        "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError - "
        'b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too '
        "long: 205668 tokens > 200000 maximum\"}}'",
        "https://github.com/kortix-ai/suna/issues/217",
        Overflow(205_668, 200_000),
    ),
)
"""Errors of clouds and gateways, which serve models of others."""
