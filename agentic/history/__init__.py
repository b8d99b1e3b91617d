"""Where a conversation is kept: the protocols, and stores in memory and in a file."""

from agentic.history._jsonl import JsonlStore
from agentic.history._memory import MemoryStore
from agentic.history._protocols import Archive, Rewriter, Store

__all__ = ["Archive", "JsonlStore", "MemoryStore", "Rewriter", "Store"]
