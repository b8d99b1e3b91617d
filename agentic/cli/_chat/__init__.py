"""`agentic chat`: an agent in the terminal, or at the end of a pipe."""

from agentic.cli._chat._command import chat_command

__all__ = ["chat_command"]
