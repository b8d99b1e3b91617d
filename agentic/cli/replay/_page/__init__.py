"""The report: one page that needs nothing else, neither a network nor a library."""

from agentic.cli.replay._page._page import Report, render_page

__all__ = ["Report", "render_page"]
