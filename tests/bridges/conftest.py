"""What the tests of several bridges share."""

import pytest

from agentic.context.budget import Compactor
from agentic.messages import Message


class _FailingCompactor:
    async def compact(self, messages: list[Message], /) -> str:
        raise OSError("no model")


@pytest.fixture
def failing_compactor() -> Compactor:
    """Return a compactor that never summarizes."""
    return _FailingCompactor()
