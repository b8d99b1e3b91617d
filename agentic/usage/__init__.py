"""What a model call used, what it cost, and why it stopped: one vocabulary for every provider.

Start with `Usage`, `StopReason` and `normalize`.

Which bucket is inside which, once and for all:

    total
    ├── input           everything that was sent
    │   ├── cache_read      read from the provider's cache
    │   ├── cache_write     written to it
    │   └── the rest        text, audio, images, what a server-side tool put into the prompt
    └── output          everything that was generated
        ├── reasoning       thinking, visible or not
        └── the rest        text, audio, calls, predicted tokens whether accepted or not

An adapter converts its provider's convention to this. `inside` means that the provider's own input
or output holds the tokens already, `beside` that they are to be added.

    provider            cached              written         reasoning   also
    openai chat         inside              inside          inside      audio, predictions: inside
    openai responses    inside              inside          inside
    azure, groq, zai    inside              -               inside      groq's stream: x_groq.usage
    anthropic           beside              beside          inside      message_start and _delta
    bedrock converse    beside              beside          inside      totalTokens holds all
    gemini, vertex      inside              -               beside      toolUsePrompt...: beside
    gemini as openai    -                   -               beside      only total_tokens holds it
    deepseek            inside, hit + miss  -               inside
    xai chat, grpc      inside              -               beside      total_tokens holds it
    xai responses       inside              -               inside
    mistral             inside              -               inside      num_cached_tokens
    openrouter          inside              inside          inside      as OpenAI, whoever serves
    cohere              inside tokens       -               inside      billed_units is less
    ollama              inside; older ones  -               inside      after the prompt was cut
                        leave them out

Nothing holds a server to it: a part that is more than its whole is up to the adapter, a missing
one is 0, and no number that a provider sends ever raises.

Sources:
    OpenAI, DeepSeek, Groq, Mistral, xAI, OpenRouter, Anthropic, Google, Amazon: the extractors of
        https://github.com/pydantic/genai-prices/tree/main/prices/providers
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html
    https://ai.google.dev/api/generate-content#UsageMetadata
    https://discuss.ai.google.dev/t/question-with-usage-in-openai-compatibility/98760
    https://api-docs.deepseek.com/api/create-chat-completion
    https://docs.cohere.com/reference/chat
    https://github.com/ollama/ollama/pull/16428, https://github.com/ollama/ollama/issues/3427
"""

from agentic.usage._stop import StopReason, StopWords, UnknownStopWord, unknown_words_raise
from agentic.usage._usage import Collected, Cost, Usage, collect, cost, normalize, report

__all__ = [
    "Collected",
    "Cost",
    "StopReason",
    "StopWords",
    "UnknownStopWord",
    "Usage",
    "collect",
    "cost",
    "normalize",
    "report",
    "unknown_words_raise",
]
