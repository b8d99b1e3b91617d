"""The names of the source systems: the same objects as in the rooms that they belong to."""

import importlib
import inspect

import pytest

from agentic import compat

# Written out, so that a name which is lost or renamed is noticed.
_NAMES = {
    "supyagent": """CONTEXT_LIMITS MODEL_ENCODINGS ContextSummary count_messages_tokens count_tokens
        get_context_limit get_encoding""",
    "open_agent_sdk": """CompactContext CompactDecision ContextConfig ContextManager
        ImportanceStrategy PreCompactHook SummarizationStrategy TokenCounter TruncationStrategy
        estimate_tokens truncate_messages""",
    "agentix": """ContextStrategy FitContextWindow HeuristicTokenCounter TrimRounds
        TruncateToolOutputs approx_token_counter count_message_tokens count_tokens""",
}


@pytest.mark.parametrize(("system", "names"), _NAMES.items())
def test_every_name_is_there(system: str, names: str) -> None:
    """A program written for the source finds what it imports."""
    module = getattr(compat, system)

    assert all(hasattr(module, name) for name in names.split())
    assert set(module.__all__) <= set(names.split())


@pytest.mark.parametrize(("system", "names"), _NAMES.items())
def test_no_code_lives_here(system: str, names: str) -> None:
    """Two doors, one implementation: each object is defined in a lower room."""
    module = getattr(compat, system)
    homes = [inspect.getmodule(getattr(module, name)) for name in names.split()]

    assert module not in homes


def test_a_system_that_is_unknown() -> None:
    """A misspelt module is the mistake it looks like."""
    with pytest.raises(AttributeError, match="supiagent"):
        _ = compat.supiagent
    assert dir(compat) == sorted(_NAMES)


def test_count_tokens_differs_between_two_systems() -> None:
    """In supyagent `count_tokens` counts a text; in agentix it counts messages."""
    supyagent = importlib.import_module("agentic.compat.supyagent")
    agentix = importlib.import_module("agentic.compat.agentix")

    assert supyagent.count_tokens("") == 0
    assert supyagent.count_tokens("one two three", "gpt-4") >= 3
    assert agentix.count_tokens([]) == 0
