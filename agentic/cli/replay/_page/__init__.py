"""The report: one page that needs nothing else, neither a network nor a library."""

from agentic.cli.replay._page._page import render_page
from agentic.cli.replay._page._report import Report

__all__ = ["Report", "render_page"]
