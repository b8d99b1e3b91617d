"""Transcripts of many makers, read into messages."""

from agentic.cli.replay._reading._files import read_transcripts
from agentic.cli.replay._reading._transcript import (
    UNDERSTOOD,
    Transcript,
    TranscriptUnreadable,
)

__all__ = ["UNDERSTOOD", "Transcript", "TranscriptUnreadable", "read_transcripts"]
