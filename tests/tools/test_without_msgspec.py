"""The room in an interpreter that has no msgspec."""

import textwrap
from collections.abc import Callable

BLOCKED = "import sys; sys.modules['msgspec'] = None\n"


def test_decorator_names_the_missing_extra(
    run_python: Callable[[str], str], remedy: Callable[[str], str]
) -> None:
    """The error is an ImportError with the line to type."""
    printed = run_python(
        BLOCKED
        + textwrap.dedent("""
        from agentic import tools
        try:
            @tools.tool
            def read(path: str) -> str:
                return path
        except ImportError as error:
            print(error)
    """)
    )

    assert printed == f"agentic.tools.tool needs msgspec: {remedy('tools')}"


def test_everything_else_works(run_python: Callable[[str], str]) -> None:
    """A tool that is written by hand is listed and run."""
    printed = run_python(
        BLOCKED
        + textwrap.dedent("""
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
    )

    assert printed == "a.py"
