"""Runs that survive their machine, and sessions on many machines, by DBOS.

Start with `Service`. Needs the extra `durable`, which installs DBOS
(https://github.com/dbos-inc/dbos-transact-py), 3.4 or newer. It is a library: the database, SQLite
or PostgreSQL, is all that is shared.

- A submitted message is a run. A queue, partitioned by session, hands it to a worker; a session is
  never run by two workers, and its runs are in the order of their submission.
- Each decision, tool call and summary is a recorded step. If a worker dies, another one continues
  its runs, and the histories are those of undisturbed runs.
- Tools run at least once, except those with `retry="never"`, which run at most once.
"""

from agentic._base import _imports
from agentic._base._versions import require as _require

_require("durable.dbos", "dbos", "durable", "3.4")

with _imports.quietly():
    from agentic.durable.dbos._lease import LeaseLost
    from agentic.durable.dbos._service import (
        QueueLimits,
        RunInfo,
        RunNotFound,
        RunOutcome,
        Service,
    )
    from agentic.durable.dbos._steps import DbosSteps
    from agentic.durable.dbos._worker import Worker

__all__ = [
    "DbosSteps",
    "LeaseLost",
    "QueueLimits",
    "RunInfo",
    "RunNotFound",
    "RunOutcome",
    "Service",
    "Worker",
]
