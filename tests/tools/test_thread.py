import subprocess
import sys

PROGRAM = """
import threading
from agentic import loop, tools
from agentic.testing import ScriptedDecider
from agentic.messages import ToolCall

@tools.tool
def hang() -> str:
    'Never end.'
    threading.Event().wait()
    return ''

decider = ScriptedDecider(loop.Decision(tool_calls=[ToolCall('1', 'hang')]), 'Done.')
result = loop.Runner(decider, tools.Registry(hang), tool_timeout_seconds=0.1).run_sync('hi')
print(result.tool_results[0].error.kind)
"""


def test_a_sync_tool_that_hangs_does_not_hold_up_the_end_of_the_program() -> None:
    """Its thread is left behind: neither the event loop nor Python waits for it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=20, check=True
    )

    assert done.stdout == "timeout\n"
