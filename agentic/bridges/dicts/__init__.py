"""A conversation that its owner keeps as a list of dicts, or of an SDK's objects."""

from agentic.bridges.dicts._conversation import Conversation

__all__ = ["Conversation"]
