"""Strategies: pure functions from the history to what the model sees."""

from agentic.context.strategies._fit_window import FitContextWindow
from agentic.context.strategies._strategy import ContextStrategy, Fit

__all__ = ["ContextStrategy", "Fit", "FitContextWindow"]
