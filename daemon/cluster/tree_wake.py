"""SQL that wakes a worker for a tree of threads: a job of Procrastinate, in the transaction of an append."""

from __future__ import annotations

TREES = "trees"
"""Queue, and name of the task, of jobs that any daemon may take."""

TREE_WAKE = f"""
create or replace function soul_wake(tree text) returns void language plpgsql as $$
begin
  if exists(select from procrastinate_jobs where queueing_lock = tree and status = 'todo') then
    return;
  end if;
  perform procrastinate_defer_jobs_v1(array[
    row('{TREES}', '{TREES}', 0, tree, tree, '{{}}', null)::procrastinate_job_to_defer_v1]);
exception when unique_violation then null;  -- another daemon has just deferred it
end $$;
"""
"""Function that an append calls for each tree that it gives something to do. It needs Procrastinate's tables.

A job that is at work does not count: its worker may have looked before this append.
"""
