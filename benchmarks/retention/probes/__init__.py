"""What a successor will ask of a hand-over note, and whether a text has the answer.

A probe is taken from a transcript that is cut somewhere: its answer stands before the cut, and for
most kinds what comes after the cut proves that it is needed. Sixteen kinds in four classes ask what
was stated (recall), which files matter (artifact), how to go on (continuation), and what was
decided and why (decision). A probe is answered by a text that contains the answer exactly.

The messages are read as they lie in the file: OpenAI chat messages, a JSON object each. Nothing
here imports anything of `agentic`, and no pattern or constant is shared with what is judged.
"""

from benchmarks.retention.probes.artifact import artifact_probes
from benchmarks.retention.probes.continuation import continuation_probes
from benchmarks.retention.probes.decision import decision_probes
from benchmarks.retention.probes.probe import KINDS, Cut, Probe
from benchmarks.retention.probes.recall import recall_probes
from benchmarks.retention.probes.score import Score, score

__all__ = ["KINDS", "Cut", "Probe", "Score", "probes_at", "score"]


def probes_at(cut: Cut) -> list[Probe]:
    """Return what a successor asks after a cut, every kind in the order of `KINDS`."""
    return [
        *recall_probes(cut),
        *artifact_probes(cut),
        *continuation_probes(cut),
        *decision_probes(cut),
    ]
