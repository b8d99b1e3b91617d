"""The words that a reply ends with, of every server and of what gateways pass on (2026-11)."""

from agentic.providers.openai_chat._wire._name import NAME
from agentic.usage import StopReason, StopWords

__all__ = ["NO_WORD", "STOP_WORDS", "spelled"]

NO_WORD = {"", "null", "not_finished"}
"""What stands in the place of a word while the reply goes on: nothing at Snowflake, "null" at
DashScope (https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference), the last at
watsonx."""

_STOP, _TOOL, _CUT = StopReason.STOP, StopReason.TOOL, StopReason.MAX_TOKENS
_FILTERED, _ABORT = StopReason.CONTENT_FILTER, StopReason.ABORT
_FAILED, _OTHER = StopReason.ERROR, StopReason.OTHER

_WORDS: dict[str, dict[StopReason, str]] = {
    "https://platform.openai.com/docs/api-reference/chat/object": {
        _STOP: "stop",
        _TOOL: "tool_calls function_call",
        _CUT: "length",
        _FILTERED: "content_filter",
    },
    "https://docs.mistral.ai/api/": {_CUT: "model_length", _FAILED: "error"},
    "https://docs.z.ai/api-reference/llm/chat-completion": {
        _CUT: "model_context_window_exceeded",
        _FILTERED: "sensitive",
        _FAILED: "network_error",
    },
    "https://api-docs.deepseek.com/api/create-chat-completion": {
        _FAILED: "insufficient_system_resource"
    },
    "https://docs.together.ai/reference/chat-completions-1": {_STOP: "eos"},
    "https://huggingface.co/docs/text-generation-inference": {_STOP: "eos_token stop_sequence"},
    "https://github.com/vllm-project/vllm/issues/57082": {_ABORT: "abort", _FAILED: "error"},
    "https://github.com/BerriAI/litellm/pull/27101": {_FAILED: "repetition"},  # of vLLM
    # DashScope's "null" is no word yet; a whole reply that has it just stopped.
    "https://www.alibabacloud.com/help/en/model-studio/qwen-api-reference": {_STOP: "null"},
    # TIMEOUT is of the second version, which https://docs.cohere.com/reference/chat describes.
    "https://docs.cohere.com/v1/reference/chat": {
        _STOP: "complete stop_sequence",
        _TOOL: "tool_call",
        _CUT: "max_tokens error_limit",
        _FILTERED: "error_toxic",
        _ABORT: "user_cancel",
        _FAILED: "error timeout",
    },
    # A time limit cuts a reply off, but no larger limit of tokens would help: it is no MAX_TOKENS.
    "https://ibm.github.io/watsonx-ai-node-sdk/enums/0_1_x.WatsonXAI.TextGenResult.Constants.StopReason.html": {  # noqa: E501
        _STOP: "eos_token stop_sequence",
        _CUT: "max_tokens token_limit",
        _ABORT: "cancelled",
        _FAILED: "time_limit error",
        _OTHER: "not_finished",
    },
    "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons": {
        _STOP: "end_turn stop_sequence",
        _TOOL: "tool_use",
        _CUT: "max_tokens model_context_window_exceeded",
        _FILTERED: "refusal",
        _OTHER: "pause_turn",
    },
    "https://platform.claude.com/docs/en/build-with-claude/compaction": {_OTHER: "compaction"},
    "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html": {
        _STOP: "end_turn stop_sequence",
        _TOOL: "tool_use",
        _CUT: "max_tokens model_context_window_exceeded",
        _FILTERED: "guardrail_intervened content_filtered",
        _FAILED: "malformed_model_output malformed_tool_use",
    },
    # In small letters through a gateway (https://github.com/HKUDS/Vibe-Trading/pull/308); the last
    # ones are of the enum in google-genai 3.4 only.
    "https://ai.google.dev/api/generate-content#FinishReason": {
        _STOP: "stop",
        _CUT: "max_tokens continuation",
        _FILTERED: (
            "safety recitation language blocklist prohibited_content spii image_safety "
            "image_prohibited_content image_recitation model_armor escalation pup_limited_disabled"
        ),
        _FAILED: (
            "malformed_function_call malformed_response missing_thought_signature "
            "unexpected_tool_call too_many_tool_calls no_image function_call_filter"
        ),
        _OTHER: "finish_reason_unspecified other image_other",
    },
    "https://ai.google.dev/api/generate-content#BlockReason": {
        _FILTERED: "jailbreak blocked_reason_unspecified block_reason_unspecified"
    },
    "https://github.com/ollama/ollama/blob/main/docs/api.md": {_STOP: "load unload"},
    # OpenAI's Responses, and spellings of gateways that no page names.
    "https://platform.openai.com/docs/api-reference/responses/object": {
        _STOP: "completed",
        _CUT: "max_output_tokens max_length",
        _ABORT: "aborted canceled cancelled",
        _FAILED: "failed",
        _OTHER: "unknown",
    },
}
"""By the page that names the words. Who ends with one of another is read by the same table."""

STOP_WORDS = StopWords(
    NAME,
    {
        word: reason
        for reasons in _WORDS.values()
        for reason, words in reasons.items()
        for word in words.split()
    },
)
"""In small letters; a word in others is looked up in these."""


def spelled(word: str) -> str | None:
    """Find the spelling that the table has; no word at all where the server sent an empty one.

    Gemini's /openai says "content_filter: RECITATION" and
    "function_call_filter: MALFORMED_FUNCTION_CALL".

    >>> spelled("MAX_TOKENS"), spelled("content_filter: RECITATION"), spelled("")
    ('max_tokens', 'content_filter', None)
    """
    small = word.lower()
    spellings = (small, small.partition(":")[0].strip(), small.replace("-", "_"))
    return next((each for each in spellings if each in STOP_WORDS.reasons), word or None)
