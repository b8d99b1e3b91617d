"""What a model call used, what it cost, and why it stopped: the same terms for every provider.

Start with `Usage`, `StopReason` and `normalize`.

Which number includes which:

    total
    ├── input           everything that was sent
    │   ├── cache_read      read from the provider's cache
    │   ├── cache_write     written to it
    │   └── the rest        text, audio, images, what a server-side tool added to the prompt
    └── output          everything that was generated
        ├── reasoning       thinking, visible or not
        └── the rest        text, audio, calls, predicted tokens whether accepted or not

An adapter converts its provider's convention to this one. `inside` means that the provider's own
input or output already includes the tokens; `outside` means that they must be added.

    provider            cached              written         reasoning   also
    openai chat         inside              inside          inside      audio, predictions: inside
    openai responses    inside              inside          inside
    azure, groq, zai    inside              -               inside      groq's stream: x_groq.usage
    anthropic           outside             outside         inside      message_start and _delta
    bedrock converse    outside             outside         inside      totalTokens includes all
    gemini, vertex      inside              -               outside     toolUsePrompt...: outside
    gemini as openai    -                   -               outside     only in total_tokens
    deepseek            inside, hit + miss  -               inside
    xai chat, grpc      inside              -               outside     in total_tokens
    xai responses       inside              -               inside
    mistral             inside              -               inside      num_cached_tokens
    openrouter          inside              inside          inside      as OpenAI, for every server
    cohere              inside tokens       -               inside      billed_units is less
    ollama              inside; older ones  -               inside      after the prompt was cut
                        leave them out

Some add up several requests; docs/how-to/read-usage.md says which, and where the last one is.

No server is held to this table. If a part is larger than its whole, the adapter decides. A missing
number is 0, and no number that a provider sends ever raises an error.

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

from agentic.usage._stop import StopReason, StopWords, unknown_words_raise
from agentic.usage._usage import Usage, cost, normalize, report

__all__ = ["StopReason", "StopWords", "Usage", "cost", "normalize", "report", "unknown_words_raise"]
