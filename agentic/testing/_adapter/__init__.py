"""The promises of every adapter, as one check that any test runner can call."""

from agentic.testing._adapter._check import check_adapter
from agentic.testing._adapter._promise import Adapter, Streamed

__all__ = ["Adapter", "Streamed", "check_adapter"]
