"""Agents of other frameworks against the fake server: their own compaction, and ours."""
