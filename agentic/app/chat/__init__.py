"""`agentic chat`: a conversation in a terminal or a pipe, with its sessions and commands.

It is started by the command; nothing in it is meant to be imported.
"""

__all__: list[str] = []
