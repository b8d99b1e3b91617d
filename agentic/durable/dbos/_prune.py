"""Removing what is over: runs with all that belongs to them, and workers that are gone."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dbos import DBOSClient

from agentic.bridges.dbos._tables import Tables

_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_BATCH = 500


def prune(
    tables: Tables, client: DBOSClient, selected: Mapping[str, Any], older_than_seconds: float
) -> int:
    """Remove the selected workflows that ended longer ago; return how many.

    Workers go with them that have lost their lease and have no run.
    """
    # The engine removes nothing by itself without its commercial service (dbos 3.4, 2026-11-23).
    # Not a timedelta, which holds neither all numbers nor infinity.
    before = datetime.fromtimestamp(max(0.0, time.time() - older_than_seconds), UTC)
    removed = 0
    while True:
        found = client.list_workflows(
            **selected,
            status=_OVER,
            completed_before=before.isoformat(),
            limit=_BATCH,
            load_input=False,
            load_output=False,
        )
        if not found:
            break
        ids = [workflow.workflow_id for workflow in found]
        # Ours first: what is interrupted here is found again by its workflow.
        tables.forget_runs(ids)
        client.delete_workflows(ids)
        removed += len(ids)
    _forget_workers(tables, client)
    return removed


def requeue_orphans(tables: Tables, client: DBOSClient, queue: str) -> None:
    """Queue the runs again whose worker was removed.

    A worker that was stopped may have taken a run when it awoke, before it noticed that it is gone.
    """
    # In this order: a worker has its row before it takes a run.
    pending = client.list_workflows(
        status="PENDING", queue_name=queue, load_input=False, load_output=False
    )
    known = set(tables.workers() if pending else ())
    for run in pending:
        if run.executor_id not in known:
            client.resume_workflow(run.workflow_id, queue_name=queue)


def _forget_workers(tables: Tables, client: DBOSClient) -> None:
    gone = tables.gone()
    if not gone:
        return
    theirs = client.list_workflows(
        status="PENDING", executor_id=gone, load_input=False, load_output=False
    )
    busy = {workflow.executor_id for workflow in theirs}
    tables.forget_workers([worker for worker in gone if worker not in busy])
