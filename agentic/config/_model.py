"""A model by its name: a provider's model, or a custom decider."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import attrs

from agentic import limits, providers
from agentic._validate import suggest
from agentic.config._records import DIGEST, MODEL, PREFIX
from agentic.config._reference import Reference
from agentic.errors import ConfigError
from agentic.limits import ModelLimits
from agentic.loop import Decider

__all__ = [
    "check_model",
    "check_summary_model",
    "connect",
    "is_served",
    "limits_of",
    "reply_tokens",
    "served_name",
]


_REPLY_LIMITS = (
    ("max_tokens",),
    ("max_completion_tokens",),
    ("max_output_tokens",),  # OpenAI's Responses API, and Google's SDK, which takes both spellings
    ("maxOutputTokens",),
    ("inferenceConfig", "maxTokens"),  # Bedrock's Converse API
    ("options", "num_predict"),  # Ollama
)
"""Where the options of a request limit the length of the reply."""


def is_served(model: str) -> bool:
    """Return whether a provider serves the model; otherwise it is a custom decider.

    >>> is_served("anthropic:claude-sonnet-4-5"), is_served("my_agent.py:Offline")
    (True, False)
    """
    provider, _, name = model.partition(":")
    return provider in providers.PROVIDERS and bool(name)


def served_name(model: str | None) -> str:
    """Return the provider's name for a model; "" for a custom decider, or for no model.

    >>> served_name("openai_chat:gpt-oss:20b"), served_name("my_agent.py:Offline")
    ('gpt-oss:20b', '')
    """
    return model.partition(":")[2] if model is not None and is_served(model) else ""


def check_model(model: str, folder: Path) -> None:
    """Raise unless a model's name is valid; nothing is imported or connected to.

    Raises:
        ConfigError: it is neither a provider's model nor a reference, or its file does not exist.
    """
    if is_served(model):
        return
    try:
        Reference.read(model, folder)
    except ConfigError as error:
        # That names a file, so a hint at providers would mislead.
        if ".py:" in model:
            raise
        provider, _, name = model.partition(":")
        remedy = suggest(provider, providers.PROVIDERS, PREFIX).replace("'?", f":{name}'?")
        raise ConfigError("model", model, MODEL, remedy) from error


def check_summary_model(model: str, folder: Path) -> None:
    """Raise unless the name of the summary model is valid; `DIGEST` means no model."""
    if model != DIGEST:
        check_model(model, folder)


def connect(
    model: str, options: Mapping[str, Any], window: ModelLimits | None, folder: Path
) -> Decider:
    """Connect to a provider's model, or import a custom decider and create it with its arguments.

    Raises:
        ConfigError: it cannot be set up.
        ImportError: the provider's SDK is not installed.
    """
    if is_served(model):
        return providers.connect(model, options=dict(options), limits=window)
    try:
        found = Reference.read(model, folder).resolve()
    except ConfigError as error:
        if ".py:" in model:
            raise
        # A misspelt provider looks like the name of a module.
        provider, known = model.partition(":")[0], ", ".join(providers.PROVIDERS)
        hint = suggest(provider, providers.PROVIDERS, "")
        remedy = f"{hint} Providers are {known}" if hint else f"providers are {known}"
        message = f"{error.message or error}; {remedy}"
        raise attrs.evolve(error, message=message) from error
    if isinstance(found, type) or not hasattr(found, "decide"):
        found = _made(model, found, options)
    elif options:
        raise ConfigError(
            "model_options",
            dict(options),
            "left out if the model is already an object",
            "refer to its class, or to a function that creates it",
        )
    if isinstance(found, type) or not callable(getattr(found, "decide", None)):
        raise ConfigError("model", model, "an object with async decide(request) -> Decision")
    return cast("Decider", found)


def limits_of(decider: Decider) -> ModelLimits:
    """Return the limits of a custom decider, if it reports them."""
    told = getattr(decider, "limits", None)
    given: object = told() if callable(told) else None
    return given if isinstance(given, ModelLimits) else limits.lookup("")


def reply_tokens(model: str | None, options: Mapping[str, Any], known: ModelLimits) -> int:
    """Return the length of the reply that is asked for; 0 if it may use the rest of the window.

    >>> reply_tokens("openai_chat:gpt-4o", {"max_tokens": 9_000}, ModelLimits(128_000, 16_384))
    9000
    """
    if model is None or not is_served(model):
        return 0
    if model.startswith("anthropic:"):
        asked: int = providers.anthropic.reply_tokens(known, options)
        return asked
    told = [providers.kit.at(options, *path) for path in _REPLY_LIMITS]
    # Ollama takes -1 for a reply without a limit.
    return max((0, *(number for number in told if isinstance(number, int))))


def _made(model: str, found: Any, options: Mapping[str, Any]) -> Any:
    try:
        return found(**options)
    except Exception as error:
        # What connects to a server itself says best which models that has.
        if isinstance(error, ConfigError) and error.name == "model":
            raise
        allowed = "a class or a function that creates a decider"
        message = f"cannot create a decider with {model}: {type(error).__name__}: {error}"
        raise ConfigError("model", model, allowed, message=message) from error
