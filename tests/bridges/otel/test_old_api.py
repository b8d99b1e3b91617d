"""An API that is missing or too old is named in one sentence."""

import subprocess
import sys

import pytest

_MISSING = "import sys; sys.modules['opentelemetry'] = None; import agentic.bridges.otel"
_OLD = """
from opentelemetry.metrics import Meter
Meter.create_histogram = lambda self, name, unit='', description='': None
import agentic.bridges.otel
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (_MISSING, "needs opentelemetry-api: pip install 'agentic-weave[otel]'"),
        (_OLD, "needs opentelemetry-api 1.30 or newer, and finds 1."),
    ],
)
def test_an_api_that_does_not_do_is_named(program: str, sentence: str) -> None:
    """With what to install."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.strip().split("\n")[-1].startswith("ImportError: bridges.otel ")
    assert sentence in done.stderr
