"""What clouds and gateways answer to a request that is too large for a model they serve."""

from agentic.providers.overflow._overflow import Overflow
from agentic.providers.overflow._row import Row
from agentic.providers.overflow._wordings import (
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
)

__all__ = ["CLOUDS"]

CLOUDS = (
    Row(
        "azure",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in "
        "8227 tokens. Please reduce the length of the messages.",
        "https://github.com/crewAIInc/crewAI-examples/issues/121",
        Overflow(8_227, 8_192),
    ),
    Row(
        "bedrock",
        TOO_LONG,
        "An error occurred (ValidationException) when calling the Converse operation: Input is too "
        "long for requested model.",
        "https://github.com/aws-samples/bedrock-chat/issues/95",
    ),
    Row(
        "bedrock, claude",
        OTHER_WORDS,
        "The model returned the following errors: too many total text bytes",
        "https://github.com/open-webui/open-webui/issues/11620",
    ),
    Row(
        "bedrock, in characters",
        OTHER_WORDS,
        "An error occurred (ValidationException) when calling the InvokeModel operation: Malformed "
        "input request: expected maxLength: 42000, actual: 46735, please reformat your input and "
        "try again.",
        "https://github.com/ryanadoty/Amazon-Bedrock-Amazon-RDS-POC/issues/9",
    ),
    Row(
        "bedrock, nova",
        TOKENS_EXCEED,
        "The model returned the following errors: Input Tokens Exceeded: Number of input tokens "
        "exceeds maximum length. Please update the input to try again.",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
    ),
    Row(
        "bedrock, llama",
        MAXIMUM_CONTEXT,
        "The model returned the following errors: This model's maximum context length is 131072 "
        "tokens. Please reduce the length of the prompt",
        "https://github.com/danny-avila/agents/blob/main/docs/context-overflow-signatures.md",
        Overflow(None, 131_072),
    ),
    Row(
        "bedrock, titan",
        TOO_MANY_TOKENS,
        "Too many input tokens. Max input tokens: 8192, request input token count: 9300",
        "https://github.com/agno-agi/agno",
        Overflow(9_300, 8_192),
    ),
    Row(
        "bedrock, mantle",
        TOKENS_EXCEED,
        "prompt tokens (1200008) exceed model maximum (1050000) for openai.gpt-5.6-terra",
        "https://github.com/strands-agents/harness-sdk/issues/3718",
        Overflow(1_200_008, 1_050_000),
    ),
    Row(
        "vertex",
        OVER_THE_LIMIT,
        "Unable to submit request because the input token count is 32825 but model only supports "
        "up to 32768. Reduce the input token count and try again.",
        "https://github.com/NousResearch/hermes-agent/issues/57275",
        Overflow(32_825, 32_768),
    ),
    Row(
        "groq",
        REDUCE_LENGTH,
        "Please reduce the length of the messages or completion.",
        "https://github.com/langchain-ai/langchain/issues/37533",
    ),
    Row(
        "cerebras",
        REDUCE_LENGTH,
        "Please reduce the length of the messages or completion. Current length is 42328 while "
        "limit is 40000",
        "https://github.com/cline/cline/issues/5140",
        Overflow(42_328, 40_000),
    ),
    Row(
        "openrouter",
        MAXIMUM_CONTEXT,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about "
        "42832 tokens (42832 of text input). Please reduce the length of either one, or use the "
        '"middle-out" transform to compress your prompt automatically.',
        "https://github.com/refly-ai/refly/issues/1177",
        Overflow(42_832, 32_768),
    ),
    Row(
        "openrouter, poolside",
        EXCEEDS_CONTEXT,
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        "https://github.com/earendil-works/pi/issues/4943",
        Overflow(131_393, 131_040),
    ),
    Row(
        "together",
        OVER_THE_LIMIT,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 "
        "`inputs` tokens and 4096 `max_new_tokens`",
        "https://github.com/BerriAI/litellm/issues/4934",
        Overflow(84_221, 4_097),
    ),
    Row(
        "fireworks",
        TOO_LONG,
        "The prompt is too long: 140000, model maximum context length: 131071",
        "https://github.com/langchain-ai/langchain/pull/37457",
        Overflow(140_000, 131_071),
    ),
    Row(
        "siliconflow",
        MAXIMUM_CONTEXT,
        "length of prompt_tokens (68957) must be less than max_seq_len (65536).",
        "https://github.com/chatboxai/chatbox/issues/2060",
        Overflow(68_957, 65_536),
    ),
    Row(
        "siliconflow, with the output",
        MAXIMUM_CONTEXT,
        "max_total_tokens (172191) must be less than or equal to max_seq_len (131072)",
        "https://github.com/bytedance/deer-flow/issues/376",
        Overflow(172_191, 131_072),
    ),
    Row(
        "sambanova",
        MAXIMUM_CONTEXT,
        "The maximum context length of DeepSeek-V3-0324 is 32768. However, answering your request "
        "will take 39732 tokens. Please reduce the length of the messages or the specified "
        "max_completion_tokens value.",
        "https://github.com/OpenHands/OpenHands/pull/9252",
        Overflow(39_732, 32_768),
    ),
    Row(
        "cloudflare",
        EXCEEDS_CONTEXT,
        "5021: The estimated number of input and maximum output tokens (155740) exceeded this "
        "model context window limit (128000).",
        "https://github.com/UKGovernmentBEIS/inspect_ai/pull/1665",
        Overflow(155_740, 128_000),
    ),
    Row(
        "snowflake",
        OVER_THE_LIMIT,
        "max tokens of 200000 exceeded",
        "https://github.com/posit-dev/positron/issues/11737",
        Overflow(None, 200_000),
    ),
    Row(
        "watsonx",
        TOKENS_EXCEED,
        "Invalid input argument for Model 'meta-llama/llama-2-70b-chat': the number of input "
        "tokens 4098 cannot exceed the total tokens limit 4096 for this model",
        "https://cloud.ibm.com/apidocs/watsonx-ai",
        Overflow(4_098, 4_096),
    ),
    Row(
        "writer",
        TOKENS_EXCEED,
        "Total number of tokens (prompt+generation) exceeded the service limit of 2048 tokens. "
        "Please make the prompt shorter or reduce the number of tokens to generate.",
        "https://github.com/stanford-crfm/helm/issues/1571",
        Overflow(None, 2_048),
    ),
    Row(
        "github models",
        OVER_THE_LIMIT,
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        "https://github.com/eslint/tsc-meetings/pull/593",
        Overflow(None, 8_000),
    ),
    Row(
        "copilot",
        TOKENS_EXCEED,
        "prompt token count of 138898 exceeds the limit of 64000",
        "https://github.com/microsoft/copilot-intellij-feedback/issues/94",
        Overflow(138_898, 64_000),
    ),
    Row(
        "volcengine",
        EXCEEDS_LENGTH,
        "Input length 203743 exceeds the maximum length 202752",
        "https://github.com/langgenius/dify/issues/32221",
        Overflow(203_743, 202_752),
    ),
    Row(
        "salesforce",
        TOKENS_EXCEED,
        "Request input tokens exceed model token limit. Reduce the input size.",
        "https://github.com/forcedotcom/Einstein-GPT-for-Developers/issues/228",
    ),
    Row(
        "litellm",
        CONTEXT_EXCEEDED,
        "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicError - "
        'b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too '
        "long: 205668 tokens > 200000 maximum\"}}'",
        "https://github.com/kortix-ai/suna/issues/217",
        Overflow(205_668, 200_000),
    ),
)
