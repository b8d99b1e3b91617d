"""What every room uses and no user sees: checks, lazy imports, clocks, and what waits."""

__all__: list[str] = []
