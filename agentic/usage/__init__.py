"""What a model call used and why it stopped, in one vocabulary for every provider."""

from agentic.usage._stop import StopReason, StopWords, UnknownStopWord, unknown_words_raise
from agentic.usage._usage import Usage, normalize

__all__ = [
    "StopReason",
    "StopWords",
    "UnknownStopWord",
    "Usage",
    "normalize",
    "unknown_words_raise",
]
