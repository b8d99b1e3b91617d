"""Removing what is over: runs with all that belongs to them, and workers that are gone."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dbos import DBOSClient

from agentic.durable.dbos._tables import Tables

_OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_BATCH = 500


def prune(
    tables: Tables, client: DBOSClient, filters: Mapping[str, Any], older_than_seconds: float
) -> int:
    """Remove the selected workflows that ended longer ago; return how many.

    Workers go with them that have lost their lease and have no run.
    """
    # The engine removes nothing by itself without its commercial service (dbos 3.4, 2026-11-23).
    # Not a timedelta, which holds neither all numbers nor infinity.
    before = datetime.fromtimestamp(max(0.0, time.time() - older_than_seconds), UTC)
    count = 0
    while True:
        workflows = client.list_workflows(
            **filters,
            status=_OVER,
            completed_before=before.isoformat(),
            limit=_BATCH,
            load_input=False,
            load_output=False,
        )
        if not workflows:
            break
        ids = [workflow.workflow_id for workflow in workflows]
        # Ours first: what is interrupted here is found again by its workflow.
        tables.forget_runs(ids)
        client.delete_workflows(ids)
        count += len(ids)
    _forget_workers(tables, client)
    return count


def requeue_orphans(tables: Tables, client: DBOSClient, queue: str) -> None:
    """Queue the runs again whose worker was removed.

    A worker that was stopped may have taken a run when it awoke, before it noticed that it is gone.
    """
    # In this order: a worker has its row before it takes a run.
    pending = client.list_workflows(
        status="PENDING", queue_name=queue, load_input=False, load_output=False
    )
    workers = set(tables.workers() if pending else ())
    for run in pending:
        if run.executor_id not in workers:
            client.resume_workflow(run.workflow_id, queue_name=queue)


def _forget_workers(tables: Tables, client: DBOSClient) -> None:
    workers = tables.gone()
    if not workers:
        return
    theirs = client.list_workflows(
        status="PENDING", executor_id=workers, load_input=False, load_output=False
    )
    busy = {workflow.executor_id for workflow in theirs}
    tables.forget_workers([worker for worker in workers if worker not in busy])
