"""The errors of self-hosted servers for a request that is too large."""

from agentic.providers.overflow._error_text import Overflow
from agentic.providers.overflow._wordings import (
    CONTEXT_EXCEEDED,
    EXCEEDS_CONTEXT,
    MAXIMUM_CONTEXT,
    OTHER_WORDS,
    OVER_THE_LIMIT,
    TOO_LONG,
    Wording,
)

__all__ = ["SELF_HOSTED"]

SELF_HOSTED = (
    Wording(
        "vllm",
        EXCEEDS_CONTEXT,
        "The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens plus multimodal "
        "tokens. For image inputs, the number of image tokens depends on the number of images, and "
        "possibly their aspect ratios as well.",
        "https://github.com/Gabesarch/grounded-rl/issues/16",
        Overflow(10_127, 8_192),
    ),
    Wording(
        "vllm 0.6",
        TOO_LONG,
        "The prompt (total length 25938) is too long to fit into the model (context length 4096). "
        "Make sure that `max_model_len` is no smaller than the number of text tokens plus "
        "multimodal tokens.",
        "https://github.com/vllm-project/vllm/issues/12165",
        Overflow(25_938, 4_096),
    ),
    Wording(
        "vllm 0.9",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens "
        "(9591 in the messages, 10000 in the completion). Please reduce the length of the messages "
        "or completion. None",
        "https://github.com/vllm-project/vllm/issues/20409",
        Overflow(19_591, 16_384),
    ),
    Wording(
        "vllm 0.13, max_tokens",
        MAXIMUM_CONTEXT,
        "'max_tokens' or 'max_completion_tokens' is too large: 65536. This model's maximum context "
        "length is 65536 tokens and your request has 10969 input tokens (65536 > 65536 - 10969). "
        "(parameter=max_tokens, value=65536)",
        "https://github.com/anomalyco/opencode/issues/9611",
        Overflow(76_505, 65_536),
    ),
    Wording(
        "vllm 0.15, max_tokens",
        OTHER_WORDS,
        "max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)",
        "https://github.com/vllm-project/vllm/pull/36789",
    ),
    Wording(
        "vllm 0.17",
        EXCEEDS_CONTEXT,
        "Input length (11680) exceeds model's maximum context length (4096).",
        "https://github.com/vllm-project/vllm/pull/36789",
        Overflow(11_680, 4_096),
    ),
    Wording(
        "vllm, at least",
        MAXIMUM_CONTEXT,
        "This model's maximum context length is 262144 tokens. However, you requested 0 output "
        "tokens and your prompt contains at least 262145 input tokens, for a total of at least "
        "262145 tokens. Please reduce the length of the input prompt or the number of requested "
        "output tokens. (parameter=input_tokens, value=262145)",
        "https://github.com/earendil-works/pi/pull/5929",
        Overflow(262_145, 262_144),
    ),
    Wording(
        "sglang",
        EXCEEDS_CONTEXT,
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "https://github.com/QwenLM/Qwen3/issues/1321",
        Overflow(61_709, 40_960),
    ),
    Wording(
        "sglang, with the output",
        EXCEEDS_CONTEXT,
        "Requested token count exceeds the model's maximum context length of 202752 tokens. You "
        "requested a total of 202941 tokens: 170941 tokens from the input messages and 32000 "
        "tokens for the completion. Please reduce the number of tokens in the input messages or "
        "the completion to fit within the limit.",
        "https://github.com/anomalyco/opencode/pull/25230",
        Overflow(202_941, 202_752),
    ),
    Wording(
        "text-generation-inference",
        OVER_THE_LIMIT,
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545",
        "https://github.com/meta-llama/llama/issues/1103",
        Overflow(4_545, 4_096),
    ),
    Wording(
        "tensorrt-llm",
        EXCEEDS_CONTEXT,
        "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)",
        "https://github.com/triton-inference-server/tensorrtllm_backend/issues/141",
        Overflow(5_056, 2_048),
    ),
    Wording(
        "tensorrt-llm, pytorch",
        EXCEEDS_CONTEXT,
        "ValueError: The sum of prompt length (9351.0), query length (0) should not exceed "
        "max_num_tokens (8192)",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/9277",
        Overflow(9_351, 8_192),
    ),
    Wording(
        "llama.cpp",
        EXCEEDS_CONTEXT,
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "https://github.com/ggml-org/llama.cpp/issues/19774",
        Overflow(4_390, 4_096),
    ),
    Wording(
        "llama.cpp, as 500",
        CONTEXT_EXCEEDED,
        "Context size has been exceeded.",
        "https://github.com/ggml-org/llama.cpp/issues/19774",
    ),
    Wording(
        "llama-cpp-python",
        EXCEEDS_CONTEXT,
        "Requested tokens (2285) exceed context window of 2048",
        "https://github.com/fedora-copr/logdetective-website/pull/193",
        Overflow(2_285, 2_048),
    ),
    Wording(
        "lm studio",
        EXCEEDS_CONTEXT,
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or "
        "provide a shorter input.",
        "https://github.com/Gitlawb/openclaude/issues/353",
        Overflow(13_055, 4_096),
    ),
    Wording(
        "lm studio 0.3",
        OTHER_WORDS,
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is "
        "loaded with context length of only 32768 tokens, which is not enough. Try to load the "
        "model with a larger context length, or provide a shorter input.",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
        Overflow(111_490, 32_768),
    ),
    Wording(
        "lm studio 0.4",
        OTHER_WORDS,
        "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
        "https://github.com/anomalyco/opencode/issues/11141",
        Overflow(15_028, 7_424),
    ),
    Wording(
        "ollama",
        TOO_LONG,
        "prompt too long; exceeded max context length by 540451 tokens (ref: 00ad71bb-fea0)",
        "https://github.com/dyad-sh/dyad/issues/3498",
    ),
    Wording(
        "ollama, the runner",
        EXCEEDS_CONTEXT,
        "input length exceeds maximum context length",
        "https://github.com/ITSpecialist111/ai_automation_suggester/issues/37",
    ),
    Wording(
        "tabbyapi",
        EXCEEDS_CONTEXT,
        "ValueError: Request length 71599 + 2048 is greater than max_seq_len 65536",
        "https://github.com/SillyTavern/SillyTavern/issues/3543",
        Overflow(73_647, 65_536),
    ),
    Wording(
        "mlx-serve",
        MAXIMUM_CONTEXT,
        "Prompt exceeds maximum context length",
        "https://github.com/ddalcu/mlx-serve/issues/66",
    ),
    Wording(
        "omlx",
        TOO_LONG,
        "Prompt too long: 41911 tokens exceeds max context window of 32768 tokens",
        "https://github.com/ValueCell-ai/ClawX/issues/658",
        Overflow(41_911, 32_768),
    ),
    Wording(
        "ds4",
        EXCEEDS_CONTEXT,
        "Prompt tokens (40000) exceeds context size (32768)",
        "https://github.com/antirez/ds4/pull/150",
        Overflow(40_000, 32_768),
    ),
    Wording(
        "gpt4all",
        EXCEEDS_CONTEXT,
        "The prompt size exceeds the context window size and cannot be processed.GPT-J ERROR: The "
        "prompt is2614tokens and the context window is2048!",
        "https://github.com/zylon-ai/private-gpt/issues/839",
        Overflow(2_614, 2_048),
    ),
    Wording(
        "replicate, mosaic",
        TOO_LONG,
        "Your input is too long. Max input length is 4096 tokens, but you supplied 5441 tokens.",
        "https://github.com/run-llama/llama_index/issues/7974",
        Overflow(5_441, 4_096),
    ),
)
