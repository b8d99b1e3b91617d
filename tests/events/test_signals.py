import attrs
import pytest

from agentic import events
from agentic.events import Event


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


RECORDS = {
    each.__name__: each for each in Event.__subclasses__() if each.__module__ == Event.__module__
}


def test_signals_and_records_come_in_pairs() -> None:
    """The record is named after the signal."""
    assert {_camel(name) for name in events.signals} == set(RECORDS)


def test_every_signal_and_record_is_public() -> None:
    """By its own name, and in the dict of all signals."""
    for name, signal in events.signals.items():
        assert getattr(events, name) is signal
        assert signal.name == name
        assert RECORDS[_camel(name)].signal is signal
        assert getattr(events, _camel(name)) is RECORDS[_camel(name)]
    assert {*events.signals, *RECORDS, "Event", "current_call", "signals"} == set(events.__all__)


def test_signal_says_what_its_record_says() -> None:
    """One docstring for both."""
    for name, signal in events.signals.items():
        assert signal.__doc__ == RECORDS[_camel(name)].__doc__


@pytest.mark.parametrize("record", RECORDS.values())
def test_records_carry_run_id_keywords_only(record: type[Event]) -> None:
    """So that a log can tell runs apart, and no field is mistaken for another."""
    fields = attrs.fields_dict(record)

    assert fields["run_id"].default is attrs.NOTHING
    assert all(field.kw_only for field in fields.values())


def test_a_record_is_frozen() -> None:
    """One receiver cannot change what the next one reads."""
    event = events.MessageUpdate(run_id="r1", delta="so")

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.delta = "no"  # type: ignore[misc]


def test_signals_are_those_of_the_design() -> None:
    """Neither more nor fewer."""
    named = """agent_start agent_end turn_start turn_end message_start message_update message_end
    tool_execution_start tool_execution_end context_compaction_start context_compaction_end
    tool_output_truncated context_changed model_request_start model_request_end
    tool_execution_progress input_transformed epoch_start"""

    assert set(events.signals) == set(named.split())
