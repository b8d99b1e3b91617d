"""The names of the source systems: the same objects as in the rooms that they belong to."""

import importlib
import inspect

import attrs
import pytest

from agentic import compat
from agentic.errors import ConfigError

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


_OWN = {
    "supyagent": "",
    # The engine of open-agent-sdk, on the rooms of context: nobody else configures a budget so.
    "open_agent_sdk": (
        "CompactContext CompactDecision ContextConfig ContextManager SummarizationStrategy"
    ),
    "agentix": "FitContextWindow",  # which knows the source's `low_water`
}


@pytest.mark.parametrize(("system", "names"), _NAMES.items())
def test_other_names_are_those_of_the_rooms(system: str, names: str) -> None:
    """Two doors, one implementation: an object is defined in a lower room, unless none has it."""
    module = getattr(compat, system)
    own = [each for each in names.split() if inspect.getmodule(getattr(module, each)) is module]

    assert own == _OWN[system].split()


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


def test_low_water_is_the_low_watermark() -> None:
    """Row E5 has the source's name, and both names at once are a mistake."""
    agentix = importlib.import_module("agentic.compat.agentix")
    strategy = agentix.FitContextWindow(100, reserve_tokens=10, low_water=1.0)

    assert (strategy.low_watermark, strategy.budget) == (1.0, 90)
    assert agentix.FitContextWindow(100).low_watermark == 0.75
    assert attrs.evolve(strategy, low_watermark=0.5).low_watermark == 0.5
    with pytest.raises(ConfigError):
        agentix.FitContextWindow(100, low_water=2.0)
    with pytest.raises(TypeError, match="not both"):
        agentix.FitContextWindow(100, low_water=1.0, low_watermark=1.0)
