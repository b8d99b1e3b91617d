"""Servers that give a model of somebody else another window than its maker or most servers do.

A server is found by the prefix of a name (`groq/qwen/qwen3-32b`), in which `_` equals `-`. Listed
are windows below the number in the file of the family, and for open weights the larger windows of
some servers. The numbers are the smaller ones of LiteLLM's map and of `genai-prices`.
"""

from datetime import date

import attrs

from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits


@attrs.frozen
class Server:
    """A server, by the prefixes that name it, and what it says of its models."""

    prefixes: tuple[str, ...]
    source: Source[ModelLimits]


SERVERS = (
    Server(
        ("anyscale",),
        Source(
            LITELLM,
            {
                "mistral-7b-instruct-v0.1": ModelLimits(16_384, 0),
                "mixtral-8x7b-instruct-v0.1": ModelLimits(16_384, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("avian",),
        Source(
            LITELLM,
            {
                "kimi-k2.5": ModelLimits(262_000, 0),
                "kimi-k2.6": ModelLimits(262_000, 0),
                "kimi-k3": ModelLimits(1_000_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("azure", "azure-ai"),
        Source(
            LITELLM,
            {
                "gpt-3.5-turbo": ModelLimits(4_097, 4_096),
                "gpt-35-turbo": ModelLimits(4_097, 4_096),
                "grok-4-1-fast-non-reasoning": ModelLimits(128_000, 0),
                "grok-4-1-fast-reasoning": ModelLimits(128_000, 0),
                "grok-4-20-non-reasoning": ModelLimits(262_000, 8_192),
                "grok-4-20-reasoning": ModelLimits(262_000, 8_192),
                "grok-4.3": ModelLimits(200_000, 8_192),
                "grok-4.6": ModelLimits(200_000, 128_000),
                "ministral-3b": ModelLimits(128_000, 4_096),
                "mistral-large-latest": ModelLimits(32_000, 0),
                "mistral-medium-3-5": ModelLimits(128_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("baseten",),
        Source(
            LITELLM,
            {
                "gpt-oss-120b": ModelLimits(128_000, 0),
                "kimi-k2.6": ModelLimits(262_000, 0),
                "kimi-k2.7-code": ModelLimits(262_000, 0),
                "kimi-k3": ModelLimits(1_048_000, 0),
                "kimi-k3.1-pro": ModelLimits(1_000_000, 0),
                "muse-spark-open": ModelLimits(1_048_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("bedrock", "bedrock-mantle", "aws"),
        Source(
            LITELLM,
            {
                "gemma-4-e2b": ModelLimits(128_000, 0),
                "gpt-oss-120b-1": ModelLimits(128_000, 0),
                "gpt-oss-20b-1": ModelLimits(128_000, 0),
                "gpt-oss-safeguard-20b": ModelLimits(128_000, 16_000),
                "jamba-instruct-v1": ModelLimits(70_000, 4_096),
                "kimi-k2-thinking": ModelLimits(256_000, 16_000),
                "kimi-k2.5": ModelLimits(256_000, 16_000),
                "kimi-k3": ModelLimits(868_928, 131_072),
                "kimi-k3.1": ModelLimits(868_928, 131_072),
                "llama3-70b-instruct-v1": ModelLimits(8_000, 2_048),
                "llama3-8b-instruct-v1": ModelLimits(8_000, 2_048),
                "v3.2": ModelLimits(156_000, 0),
                "v3-v1": ModelLimits(128_000, 0),
                "r1-v1": ModelLimits(128_000, 0),
                "qwen3-coder-480b-a35b-v1": ModelLimits(128_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("cerebras",),
        Source(
            LITELLM,
            {
                "glm-4.7": ModelLimits(131_072, 0),
                "llama3.1-8b": ModelLimits(32_768, 0),
                "qwen-3-32b": ModelLimits(128_000, 0),
                "qwen3.8-27b": ModelLimits(65_536, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("chatgpt",),
        Source(
            LITELLM,
            {
                "gpt-5.1-codex-max": ModelLimits(128_000, 0),
                "gpt-5.1-codex-mini": ModelLimits(128_000, 64_000),
                "gpt-5.2": ModelLimits(128_000, 64_000),
                "gpt-5.3-codex": ModelLimits(128_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("clf-ai-gateway",),
        Source(
            LITELLM,
            {
                "glm-5.2": ModelLimits(262_144, 131_072),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("cloudflare",),
        Source(
            LITELLM,
            {
                "glm-5.2": ModelLimits(262_144, 0),
                "gpt-oss-120b": ModelLimits(128_000, 0),
                "gpt-oss-20b": ModelLimits(128_000, 0),
                "llama-2-7b-chat-fp16": ModelLimits(3_072, 0),
                "llama-2-7b-chat-int8": ModelLimits(2_048, 0),
                "llama-3.1-8b-instruct-fp8": ModelLimits(32_000, 0),
                "llama-3.2-1b-instruct": ModelLimits(60_000, 0),
                "llama-3.2-3b-instruct": ModelLimits(80_000, 0),
                "llama-3.3-70b-instruct-fp8-fast": ModelLimits(24_000, 0),
                "mistral-7b-instruct-v0.1": ModelLimits(8_192, 0),
                "mistral-7b-instruct-v0.2-lora": ModelLimits(15_000, 0),
                "qwq-32b": ModelLimits(24_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("cursor",),
        Source(
            LITELLM,
            {
                "grok-4.5": ModelLimits(256_000, 0),
                "grok-4.6": ModelLimits(256_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("dashscope",),
        Source(
            LITELLM,
            {
                "kimi-k2.7-code": ModelLimits(229_376, 16_384),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("databricks",),
        Source(
            LITELLM,
            {
                "gpt-oss-120b": ModelLimits(128_000, 0),
                "gpt-oss-20b": ModelLimits(128_000, 0),
                "kimi-k3": ModelLimits(1_000_000, 0),
                "llama-4-maverick": ModelLimits(128_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("deepinfra",),
        Source(
            LITELLM,
            {
                "deepseek-r1": ModelLimits(163_840, 0),
                "deepseek-r1-0528-turbo": ModelLimits(32_768, 0),
                "deepseek-r1-distill-llama-70b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-qwen-32b": ModelLimits(131_072, 0),
                "deepseek-r1-turbo": ModelLimits(40_960, 0),
                "deepseek-v3": ModelLimits(163_840, 0),
                "gemini-2.5-flash": ModelLimits(1_000_000, 0),
                "gemini-2.5-pro": ModelLimits(1_000_000, 0),
                "gemini-3.1-flash-lite": ModelLimits(1_000_000, 0),
                "gemini-3.1-pro": ModelLimits(1_000_000, 0),
                "gemini-3.5-flash": ModelLimits(1_000_000, 0),
                "gemini-3.7-flash": ModelLimits(1_000_000, 0),
                "gemma-4-26b-a4b-it": ModelLimits(262_144, 0),
                "gemma-4-31b-it": ModelLimits(262_144, 0),
                "kimi-k2-instruct-0905": ModelLimits(262_144, 0),
                "llama-4-scout-17b-16e-instruct": ModelLimits(327_680, 0),
                "qwen2.5-vl-32b-instruct": ModelLimits(128_000, 0),
                "qwen3-235b-a22b-instruct-2507": ModelLimits(262_144, 0),
                "qwen3-235b-a22b-thinking-2507": ModelLimits(262_144, 0),
                "qwen3-max": ModelLimits(256_000, 0),
                "qwen3-vl-235b-a22b-instruct": ModelLimits(262_144, 0),
                "qwen3-vl-30b-a3b-instruct": ModelLimits(262_144, 0),
                "qwen3.7-max": ModelLimits(256_000, 0),
                "qwen3.8-max": ModelLimits(256_000, 0),
                "qwq-32b": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("empiriolabs",),
        Source(
            LITELLM,
            {
                "qwen3-5-omni-flash": ModelLimits(196_608, 32_768),
                "qwen3-5-omni-plus": ModelLimits(196_608, 32_768),
                "qwen3-6-35b-a3b": ModelLimits(131_072, 16_384),
                "qwen3-7-max": ModelLimits(983_616, 65_536),
                "qwen3-7-plus": ModelLimits(983_616, 65_536),
                "qwen3-8-flash": ModelLimits(983_616, 131_072),
                "qwen3-8-max": ModelLimits(983_616, 131_072),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("fireworks", "fireworks-ai"),
        Source(
            LITELLM,
            {
                "deepseek-r1": ModelLimits(163_840, 0),
                "deepseek-r1-distill-llama-70b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-llama-8b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-qwen-1.5b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-qwen-14b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-qwen-32b": ModelLimits(131_072, 0),
                "deepseek-r1-distill-qwen-7b": ModelLimits(131_072, 0),
                "deepseek-v3": ModelLimits(131_072, 0),
                "glm-4.5v": ModelLimits(131_072, 0),
                "kimi-k2-instruct-0905": ModelLimits(262_144, 0),
                "kimi-k3": ModelLimits(1_040_000, 0),
                "llama4-maverick-instruct-basic": ModelLimits(131_072, 0),
                "ministral-3-14b-instruct-2512": ModelLimits(256_000, 0),
                "ministral-3-3b-instruct-2512": ModelLimits(256_000, 0),
                "ministral-3-8b-instruct-2512": ModelLimits(256_000, 0),
                "qwen3-235b-a22b": ModelLimits(128_000, 0),
                "qwen3-235b-a22b-instruct-2507": ModelLimits(262_144, 0),
                "qwen3-235b-a22b-thinking-2507": ModelLimits(262_144, 0),
                "qwen3-30b-a3b": ModelLimits(131_072, 0),
                "qwen3-30b-a3b-thinking-2507": ModelLimits(262_144, 0),
                "qwen3-32b": ModelLimits(131_072, 0),
                "qwen3-vl-235b-a22b-instruct": ModelLimits(262_144, 0),
                "qwen3-vl-235b-a22b-thinking": ModelLimits(262_144, 0),
                "qwen3-vl-30b-a3b-instruct": ModelLimits(262_144, 0),
                "qwen3-vl-30b-a3b-thinking": ModelLimits(262_144, 0),
                "qwen3-vl-8b-instruct": ModelLimits(262_144, 0),
                "qwen3p7-plus": ModelLimits(262_144, 0),
                "qwen3p8-max": ModelLimits(262_144, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("github-copilot",),
        Source(
            # The limit on the prompt, which Copilot enforces. Other lists add the reply to it
            # (264,000 for 200,000): https://github.com/anomalyco/models.dev/pull/895
            LITELLM,
            {
                "claude-fable-5": ModelLimits(200_000, 64_000),
                "claude-fable-5.1": ModelLimits(200_000, 64_000),
                "claude-haiku-4.5": ModelLimits(128_000, 16_000),
                "claude-haiku-5.5": ModelLimits(128_000, 16_000),
                "claude-opus-4.7": ModelLimits(200_000, 64_000),
                "claude-opus-4.8": ModelLimits(200_000, 64_000),
                "claude-opus-5": ModelLimits(200_000, 64_000),
                "claude-opus-5.5": ModelLimits(200_000, 128_000),
                "claude-sonnet-4.6": ModelLimits(200_000, 64_000),
                "claude-sonnet-5": ModelLimits(200_000, 64_000),
                "claude-sonnet-5.5": ModelLimits(200_000, 128_000),
                "gemini-3.5-flash": ModelLimits(200_000, 64_000),
                "gemini-3.6-flash": ModelLimits(200_000, 64_000),
                "gemini-3.7-flash": ModelLimits(200_000, 64_000),
                "gemini-3.8-flash": ModelLimits(200_000, 65_536),
                "gemini-4-argon": ModelLimits(200_000, 65_536),
                "gpt-4.1": ModelLimits(128_000, 16_384),
                "gpt-4o": ModelLimits(64_000, 4_096),
                "gpt-4o-2024-05-13": ModelLimits(64_000, 4_096),
                "gpt-4o-mini": ModelLimits(64_000, 4_096),
                "gpt-5-mini": ModelLimits(128_000, 64_000),
                "gpt-5.3-codex": ModelLimits(128_000, 0),
                "gpt-5.4": ModelLimits(272_000, 128_000),
                "gpt-5.5": ModelLimits(272_000, 128_000),
                "gpt-5.6-luna": ModelLimits(200_000, 128_000),
                "gpt-5.6-sol": ModelLimits(272_000, 128_000),
                "gpt-5.6-terra": ModelLimits(272_000, 128_000),
                "gpt-6.1-sol": ModelLimits(272_000, 128_000),
                "gpt-6.1-terra": ModelLimits(272_000, 128_000),
                "grok-4.5": ModelLimits(328_000, 0),
                "grok-4.6": ModelLimits(328_000, 0),
                "kimi-k2.7-code": ModelLimits(256_000, 0),
                "kimi-k3": ModelLimits(917_504, 131_072),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("gmi",),
        Source(
            LITELLM,
            {
                "gpt-5.4": ModelLimits(409_600, 0),
                "qwen3.6-plus": ModelLimits(262_144, 0),
                "qwen3.7-max": ModelLimits(262_144, 0),
                "qwen3.8-max": ModelLimits(262_144, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("groq",),
        Source(
            LITELLM,
            {
                "deepseek-r1-distill-llama-70b": ModelLimits(131_072, 0),
                "llama-4-maverick-17b-128e-instruct": ModelLimits(131_072, 0),
                "qwen3-32b": ModelLimits(131_072, 0),
                "qwen3.8-27b": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("hyperbolic",),
        Source(
            LITELLM,
            {
                "deepseek-r1": ModelLimits(32_768, 0),
                "deepseek-v3": ModelLimits(32_768, 0),
                "deepseek-v3-0324": ModelLimits(32_768, 0),
                "llama-3.2-3b-instruct": ModelLimits(32_768, 0),
                "meta-llama-3.1-405b-instruct": ModelLimits(32_768, 0),
                "meta-llama-3.1-70b-instruct": ModelLimits(32_768, 0),
                "meta-llama-3.1-8b-instruct": ModelLimits(32_768, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("kyma",),
        Source(
            LITELLM,
            {
                "gemma-4-31b": ModelLimits(128_000, 8_192),
                "gpt-oss-120b": ModelLimits(128_000, 8_192),
                "sonar": ModelLimits(127_072, 4_096),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("lambda", "lambda-ai"),
        Source(
            LITELLM,
            {
                "llama-4-maverick-17b-128e-instruct-fp8": ModelLimits(131_072, 8_192),
                "llama-4-scout-17b-16e-instruct": ModelLimits(16_384, 8_192),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("libertai",),
        Source(
            LITELLM,
            {
                "deepseek-v4-flash": ModelLimits(200_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("llamagate",),
        Source(
            LITELLM,
            {
                "qwen3-vl-8b": ModelLimits(32_768, 8_192),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("nebius",),
        Source(
            LITELLM,
            {
                "deepseek-v3-0324": ModelLimits(32_768, 0),
                "gemma-3-27b-it": ModelLimits(110_000, 0),
                "qwen3-next-80b-a3b-thinking": ModelLimits(128_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("novita",),
        Source(
            LITELLM,
            {
                "deepseek-r1-distill-llama-70b": ModelLimits(8_192, 0),
                "gemma-3-27b-it": ModelLimits(98_304, 0),
                "llama-3.1-8b-instruct": ModelLimits(16_384, 0),
                "llama-3.2-3b-instruct": ModelLimits(32_768, 0),
                "llama-3.3-70b-instruct": ModelLimits(12_288, 0),
                "mistral-nemo": ModelLimits(60_288, 0),
                "qwen3-coder-30b-a3b-instruct": ModelLimits(160_000, 32_768),
                "qwen3-next-80b-a3b-instruct": ModelLimits(131_072, 0),
                "qwen3-next-80b-a3b-thinking": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("oci",),
        Source(
            LITELLM,
            {
                "gpt-oss-120b": ModelLimits(128_000, 0),
                "gpt-oss-20b": ModelLimits(128_000, 0),
                "grok-4": ModelLimits(128_000, 0),
                "grok-4-fast": ModelLimits(131_072, 0),
                "grok-4.1-fast": ModelLimits(131_072, 0),
                "grok-4.20": ModelLimits(131_072, 0),
                "grok-code-fast-1": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("openinfer",),
        Source(
            LITELLM,
            {
                "glm-5.3-flash": ModelLimits(393_216, 0),
                "qwen3.5-27b": ModelLimits(32_768, 0),
                "qwen3.5-9b": ModelLimits(100_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("openrouter",),
        Source(
            LITELLM,
            {
                "deepseek-r1-distill-llama-70b": ModelLimits(8_192, 0),
                "gemini-2.5-flash-image": ModelLimits(32_768, 0),
                "gemini-3.1-flash-lite-image": ModelLimits(65_536, 0),
                "gpt-3.5-turbo-0613": ModelLimits(4_095, 0),
                "gpt-3.5-turbo-instruct": ModelLimits(4_095, 0),
                "gpt-4": ModelLimits(8_191, 0),
                "gpt-5.4-image-2": ModelLimits(272_000, 0),
                "llama-3.2-1b-instruct": ModelLimits(60_000, 0),
                "minimax-m2-her": ModelLimits(65_536, 0),
                "qwen3.7-plus": ModelLimits(262_144, 0),
                "sonar": ModelLimits(127_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("ovhcloud",),
        Source(
            LITELLM,
            {
                "gpt-oss-120b": ModelLimits(131_000, 0),
                "gpt-oss-20b": ModelLimits(131_000, 0),
                "mistral-nemo-instruct-2407": ModelLimits(65_536, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("perplexity",),
        Source(
            LITELLM,
            {
                "mistral-7b-instruct": ModelLimits(4_096, 0),
                "mixtral-8x7b-instruct": ModelLimits(4_096, 0),
                "sonar-medium-chat": ModelLimits(16_384, 0),
                "sonar-medium-online": ModelLimits(12_000, 0),
                "sonar-small-chat": ModelLimits(16_384, 0),
                "sonar-small-online": ModelLimits(12_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("pinstripes",),
        Source(
            LITELLM,
            {
                "deepseek-v4-flash": ModelLimits(163_840, 0),
                "qwen3-coder-30b-a3b": ModelLimits(131_072, 0),
                "qwen3.6-35b-a3b": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("quicksilverpro",),
        Source(
            LITELLM,
            {
                "kimi-k2.6": ModelLimits(256_000, 0),
                "kimi-k2.7-code": ModelLimits(256_000, 0),
                "mistral-large-4": ModelLimits(524_288, 0),
                "muse-spark-open": ModelLimits(1_000_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("qwen-ai-platform",),
        Source(
            LITELLM,
            {
                "kimi-k2.7-code": ModelLimits(229_376, 16_384),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("qwencloud",),
        Source(
            LITELLM,
            {
                "kimi-k2.7-code": ModelLimits(229_376, 16_384),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("replicate",),
        Source(
            LITELLM,
            {
                "llama-3-8b": ModelLimits(8_086, 0),
                "mistral-7b-instruct-v0.2": ModelLimits(4_096, 0),
                "mistral-7b-v0.1": ModelLimits(4_096, 0),
                "mixtral-8x7b-instruct-v0.1": ModelLimits(4_096, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("sail",),
        Source(
            LITELLM,
            {
                "gemma-4-12b-it": ModelLimits(16_384, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("sambanova",),
        Source(
            LITELLM,
            {
                "deepseek-r1": ModelLimits(32_768, 0),
                "deepseek-v3.2": ModelLimits(32_768, 0),
                "llama-3.1-8b-instruct": ModelLimits(16_384, 0),
                "llama-4-maverick-17b-128e-instruct": ModelLimits(131_072, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("scaleway",),
        Source(
            LITELLM,
            {
                "deepseek-v4-flash-0731": ModelLimits(256_000, 32_768),
                "glm-5.2": ModelLimits(256_000, 16_384),
                "gpt-oss-120b": ModelLimits(128_000, 32_768),
                "qwen3-coder-30b-a3b-instruct": ModelLimits(128_000, 32_768),
                "qwen3.5-397b-a17b": ModelLimits(256_000, 16_384),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("scx-ai",),
        Source(
            LITELLM,
            {
                "kimi-k3": ModelLimits(1_000_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("snowflake",),
        Source(
            LITELLM,
            {
                "claude-sonnet-4-6": ModelLimits(200_000, 16_384),
                "llama3-70b": ModelLimits(8_000, 0),
                "llama3-8b": ModelLimits(8_000, 0),
                "llama4-maverick": ModelLimits(128_000, 16_384),
                "mistral-large": ModelLimits(32_000, 8_192),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("streamlake",),
        Source(
            LITELLM,
            {
                "deepseek-v3": ModelLimits(56_000, 8_000),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("tencent",),
        Source(
            LITELLM,
            {
                "kimi-k2.7-code": ModelLimits(256_000, 0),
                "kimi-k3": ModelLimits(1_000_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("tensormesh",),
        Source(
            LITELLM,
            {
                "deepseek-v4-flash": ModelLimits(32_768, 0),
                "gemma-4-31b-it": ModelLimits(32_768, 0),
                "kimi-k2.6": ModelLimits(32_768, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("together", "together-ai"),
        Source(
            LITELLM,
            {
                "deepseek-r1": ModelLimits(163_840, 0),
                "deepseek-v3": ModelLimits(65_536, 0),
                "gemma-4-31b-it": ModelLimits(262_144, 0),
                "llama-4-scout-17b-16e-instruct": ModelLimits(1_048_576, 0),
                "meta-llama-3.1-8b": ModelLimits(16_384, 0),
                "ministral-3-14b-instruct-2512": ModelLimits(262_144, 0),
                "nemotron-3-ultra-550b-a55b": ModelLimits(512_288, 0),
                "qwen2.5-72b-instruct-turbo": ModelLimits(131_072, 0),
                "qwen3-235b-a22b-instruct-2507": ModelLimits(262_144, 0),
                "qwen3-vl-32b-instruct": ModelLimits(262_144, 0),
                "qwen3-vl-8b-instruct": ModelLimits(262_144, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("vercel", "vercel-ai-gateway"),
        Source(
            LITELLM,
            {
                "claude-opus-4.6": ModelLimits(200_000, 64_000),
                "gemini-2.5-flash": ModelLimits(1_000_000, 65_536),
                "llama-4-maverick": ModelLimits(131_072, 8_192),
                "ministral-3b": ModelLimits(128_000, 4_000),
                "mistral-large": ModelLimits(32_000, 4_000),
                "sonar": ModelLimits(127_000, 8_000),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("vertex-ai", "vertex"),
        Source(
            LITELLM,
            {
                "deepseek-r1-0528-maas": ModelLimits(65_336, 8_192),
                "grok-4.1-fast-non-reasoning": ModelLimits(128_000, 0),
                "grok-4.1-fast-reasoning": ModelLimits(128_000, 0),
                "grok-4.3": ModelLimits(200_000, 0),
                "kimi-k2-thinking-maas": ModelLimits(256_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("volcengine",),
        Source(
            LITELLM,
            {
                "deepseek-v3-2-251201": ModelLimits(98_304, 32_768),
                "kimi-k2-thinking-251104": ModelLimits(229_376, 32_768),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("wandb",),
        Source(
            LITELLM,
            {
                "deepseek-v4-flash-0731": ModelLimits(262_000, 0),
                "glm-5.2": ModelLimits(262_000, 0),
                "gpt-oss-120b": ModelLimits(131_000, 0),
                "gpt-oss-20b": ModelLimits(131_000, 0),
                "kimi-k2.6": ModelLimits(262_000, 0),
                "kimi-k2.7-code": ModelLimits(262_000, 0),
                "minimax-m3": ModelLimits(262_000, 0),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("watsonx",),
        Source(
            LITELLM,
            {
                "llama-4-maverick-17b": ModelLimits(131_072, 8_192),
            },
            date(2026, 11, 27),
        ),
    ),
    Server(
        ("zerogpu",),
        Source(
            LITELLM,
            {
                "gpt-5.6-luna": ModelLimits(272_000, 128_000),
                "gpt-6-luna": ModelLimits(272_000, 128_000),
                "gpt-oss-120b": ModelLimits(128_000, 32_768),
            },
            date(2026, 11, 27),
        ),
    ),
)
