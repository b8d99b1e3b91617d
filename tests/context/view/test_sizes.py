"""How large a request is said to be, by the server that reads it."""

import asyncio

import pytest

from agentic import events
from agentic.testing import AgentScript, ModelServer
from benchmarks.binding import _case, dicts

_WINDOW = 8_000
_ENTRIES = {
    "Anthropic": dicts.ENTRIES["dicts, fit_request (Anthropic)"],
    "Responses": dicts.ENTRIES["dicts, fit_request (Responses)"],
    "Chat Completions": dicts.ENTRIES["dicts, fit_request (Chat Completions)"],
    "Bedrock": dicts.ENTRIES["dicts, fit_request (Bedrock)"],
    "Gemini": dicts.ENTRIES["Google ADK's page (Gemini)"],
}


@pytest.mark.parametrize("shape", [(12, 2), (1, 30)], ids=["turns", "loop"])
@pytest.mark.parametrize("wire", _ENTRIES)
def test_first_request_of_an_epoch_has_the_size_that_is_counted(
    wire: str, shape: tuple[int, int]
) -> None:
    """With the reasoning that is sent, and without what is left out or dropped."""
    turns, rounds = shape
    script = AgentScript(turns=turns, rounds=rounds, thinking="I read on.")
    server = ModelServer(script=script, window=_WINDOW, strict=True)
    case = _case.Case(shape="", window=_WINDOW, strategy="default", server=server, script=script)
    sizes: list[tuple[int, int]] = []

    def note(_: object, event: events.EpochStart) -> None:
        sizes.append((len(server.served), event.tokens))

    with events.epoch_start.connected_to(note):
        asyncio.run(_ENTRIES[wire](case))  # type: ignore[arg-type]

    assert len(sizes) >= 2
    for at, tokens in sizes:
        served = server.served[at]
        count = served.read + served.written + served.uncached
        assert 0.97 * count <= tokens <= 1.1 * count
