"""The log: the journal in PostgreSQL, as SQL.

`soul_append` takes a batch in one statement and under one lock, so that seqs have no gaps and are in the
order of commits, and so that a daemon that stops in the middle delays no other.
"""

from __future__ import annotations

from daemon.engine.journal.log_locks import LogLock

LOG_VERSION = 1

LOG_TABLES = """
create table if not exists soul_log(
  one boolean primary key default true check (one), id uuid not null default gen_random_uuid(),
  version integer not null, team text not null default '', app text not null default '',
  complete boolean not null default true, clean bigint not null default 0);

create table if not exists entry(
  seq bigint primary key, thread text not null, kind text not null, author text not null, body text not null,
  key text not null, cause bigint, closes bigint[] not null, at double precision not null,
  pending boolean not null, leases boolean not null, writer bigint not null);

-- A key may be longer than what an index takes. Of immutable functions alone, so that it is inlined.
create or replace function soul_hash(key text) returns bytea language sql immutable parallel safe
  return sha256(replace(key, E'\\\\', E'\\\\\\\\')::bytea);
create unique index if not exists entry_by_key on entry(soul_hash(key));
create unique index if not exists entry_opens_thread on entry(thread) where kind = 'thread';

create table if not exists pending(seq bigint primary key, thread text not null);
create table if not exists lease(thread text primary key, epoch bigint not null);

create table if not exists soul_copy(
  machine text primary key, cleared bigint not null default 0, has bigint not null default 0);

-- Statistics of the planner would keep words that are forgotten.
alter table entry alter column body set statistics 0;
alter table entry alter column key set statistics 0;
alter index entry_by_key alter column 1 set statistics 0;
"""
"""Tables of the log. `soul_log` has one row: which log this is, of which workspace and version.

`pending` and `lease` are projections, as in SQLite. `writer` is the worker that wrote the entry.
`soul_log.clean` is the last entry of forgetting whose words the log holds no more, `soul_copy.cleared` the
last entry up to which the copy of this machine holds no forgotten words. `soul_copy.has` is the last entry
of a copy that had entries which the log lacks.
"""

LACKS_ENTRIES = "SL001"
"""SQLSTATE of a log that lacks entries which a copy has: nothing is appended until they are back."""

APPEND = f"""
create or replace function soul_append(
  batch jsonb, writer bigint, jobs boolean,
  out before bigint, out last bigint, out outcomes text[], out refs jsonb)
language plpgsql as $$
#variable_conflict use_variable
declare
  one record; what text; ref bigint; the_cause bigint; the_closes bigint[];
begin
  perform pg_advisory_xact_lock({LogLock.APPEND}, hashtext(current_schema));
  select coalesce((select max(seq) from entry), 0) into before;
  last := before; outcomes := '{{}}'; refs := '[]';
  if exists(select from soul_copy where has > before) then
    raise exception 'the copy of % has the entry %, and the log ends at %',
      (select machine from soul_copy order by has desc limit 1), (select max(has) from soul_copy), before
      using errcode = 'SL001';
  end if;
  for one in select * from jsonb_to_recordset(batch) as x(
      thread text, kind text, author text, body text, key text, cause bigint, closes bigint[], moot bigint[],
      at double precision, pending boolean, leases boolean, tree text, fence text, epoch bigint,
      requires bigint, after text, receipt_of text, opened_by text) loop
    what := 'written'; the_cause := one.cause; the_closes := one.closes;
    if one.fence is not null and (select epoch from lease where thread = one.fence)
        is distinct from one.epoch then
      what := 'fenced';
    elsif one.requires is not null and not exists(select from pending where seq = one.requires) then
      what := 'closed';
    elsif one.after <> '' and not exists(select from entry where soul_hash(key) = soul_hash(one.after)) then
      what := 'after';
    elsif one.receipt_of <> '' then
      select seq into ref from entry where soul_hash(key) = soul_hash(one.receipt_of);
      if ref is null then what := 'receipt_of'; end if;
      the_cause := ref; the_closes := array[ref];
    elsif one.opened_by <> '' then
      select seq into ref from entry
        where soul_hash(key) = soul_hash(one.opened_by) and thread = one.thread;
      if ref is null then what := 'opened_by'; end if;
      the_cause := ref;
    end if;
    if what = 'written' then
      if one.moot <> '{{}}' then
        the_closes := the_closes || array(select seq from pending where seq = any(one.moot) order by seq);
      end if;
      insert into entry values(
        last + 1, one.thread, one.kind, one.author, one.body, one.key, the_cause, the_closes, one.at,
        one.pending, one.leases, writer) on conflict do nothing;
      if found then
        last := last + 1;
        if one.pending then insert into pending values(last, one.thread); end if;
        if one.leases then
          insert into lease values(one.thread, last) on conflict(thread) do update set epoch = last;
        end if;
        if the_closes <> '{{}}' then delete from pending where seq = any(the_closes); end if;
        if one.receipt_of <> '' or one.opened_by <> '' or one.moot <> '{{}}' then
          refs := refs || jsonb_build_array(
            jsonb_build_array(cardinality(outcomes), the_cause, to_jsonb(the_closes)));
        end if;
        if jobs and one.tree <> '' then perform soul_wake(one.tree); end if;
      else
        what := 'conflict';
      end if;
    end if;
    outcomes := outcomes || what;
  end loop;
  if last > before then perform pg_notify('soul_' || current_schema, last::text); end if;
end $$;

-- Without jobs nobody is woken.
create or replace function soul_wake(tree text) returns void language sql as $$ select $$;
"""
"""Functions of the log. An appended row has the outcome `written`, or the name of what it lacked.

Written rows have the seqs after `before`, in order. `refs` has number, cause and closes of those rows whose
references only the log knew.
`tree` of a row is the root of a tree that it makes busy; `jobs` says if that wakes a worker.
"""
