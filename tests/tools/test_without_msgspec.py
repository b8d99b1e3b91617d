"""The room in an interpreter that has no msgspec."""

import subprocess
import sys
import textwrap

BLOCKED = "import sys; sys.modules['msgspec'] = None\n"


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_decorator_names_the_missing_extra() -> None:
    """The error is an ImportError with the line to type."""
    printed = _python("""
        from agentic import tools
        try:
            @tools.tool
            def read(path: str) -> str:
                return path
        except ImportError as error:
            print(error)
    """)

    assert printed == "agentic.tools.tool needs msgspec: pip install 'agentic-weave[tools]'"


def test_everything_else_works() -> None:
    """A tool that is written by hand is listed and run."""
    printed = _python("""
        import asyncio
        from agentic import tools
        from agentic.messages import ToolCall

        class Read:
            definition = tools.ToolDefinition("read")
            async def run(self, arguments, /):
                return arguments["path"]

        executor = tools.CompositeExecutor(
            tools.FilteredExecutor(tools.Registry(Read()), ["read"])
        )
        call = ToolCall("c1", "read", '{"path": "a.py"}')
        print(asyncio.run(executor.execute(call)).output)
    """)

    assert printed == "a.py"


def test_importing_room_imports_no_msgspec() -> None:
    """Only the decorator pays for it."""
    code = "import sys, agentic.tools; print('msgspec' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
