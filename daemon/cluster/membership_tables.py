"""SQL of the daemons of a workspace: who is alive, who has which role, who has how many sockets.

A daemon is alive as long as its row in Procrastinate's table of workers is there. Its session holds a lock.
"""

from __future__ import annotations

MEMBERSHIP_TABLES = """
create table if not exists soul_daemon(
  worker_id bigint primary key, machine text not null, at_work text not null, working boolean not null,
  version text not null, digests jsonb not null, sockets integer not null,
  clock_offset double precision not null, address text not null, backend_pid integer not null,
  began timestamptz not null default clock_timestamp(),
  -- Of a dead daemon: the daemon that cleans up after it; until when Slack may keep its sockets.
  cleaned_by bigint, cleaned boolean not null default false, sockets_until timestamptz);
create table if not exists soul_role(name text primary key, worker_id bigint not null);

-- Sessions are found by the worker's id, so two workspaces in one database must not share ids.
do $$ begin
  if not exists(select from soul_daemon union all select from procrastinate_workers) then
    execute format('alter table procrastinate_workers alter column id restart with %s',
      (1 + abs(hashtext(current_schema()::text)::bigint) % 1000000) * 2000);
  end if;
end $$;
"""
"""Tables; they need Procrastinate's. May run again."""

MEMBERSHIP_FUNCTIONS = """
create or replace function soul_lock_class(purpose text) returns integer language sql stable as $$
  select hashtext('soul ' || purpose || ' of ' || current_schema()) $$;

create or replace function soul_is_alive(worker bigint) returns boolean language sql volatile as $$
  select exists(select from procrastinate_workers where id = worker) $$;

create or replace function soul_has_session(worker bigint) returns boolean language sql volatile as $$
  select exists(select from pg_locks where locktype = 'advisory' and granted and objsubid = 2
    and database = (select oid from pg_database where datname = current_database())
    and classid = soul_lock_class('daemon')::oid
    and objid = worker::integer::oid) $$;

create or replace function soul_may_have_sockets(until timestamptz) returns boolean
language sql volatile as $$
  select coalesce(until > clock_timestamp(), false) $$;

-- The clock of the log as a Unix time.
create or replace function soul_now() returns double precision language sql volatile as $$
  select extract(epoch from clock_timestamp())::double precision $$;

-- After a restart of the log, others may not have come back yet.
create or replace function soul_was_up(seconds double precision) returns boolean language sql volatile as $$
  select pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => seconds) $$;

-- Count silent daemons as dead, and end their sessions. A locked row is being renewed, or counted by another.
create or replace function soul_count_dead(me bigint, silence double precision, gone double precision)
returns boolean language plpgsql as $$
declare counted bigint[];
begin
  with dead as (
    select w.id, soul_has_session(w.id) as has_session from procrastinate_workers w
    where w.id <> me and w.id in (select worker_id from soul_daemon) and (
      w.last_heartbeat < clock_timestamp() - make_interval(secs => silence)
      or w.last_heartbeat < clock_timestamp() - make_interval(secs => gone) and not soul_has_session(w.id))
    for update of w skip locked
  ), noted as (
    -- A process that ended has closed its sockets; one that only fell silent may still have them.
    update soul_daemon d set sockets_until = clock_timestamp() + make_interval(
      secs => case when dead.has_session then 60 else 0 end) from dead where d.worker_id = dead.id
  ), deleted as (
    delete from procrastinate_workers where id in (select id from dead) returning id)
  select array_agg(id) into counted from deleted;
  if counted is null then return false; end if;
  begin
    perform pg_terminate_backend(a.pid) from pg_stat_activity a, unnest(counted) as dead
      where a.datname = current_database() and a.application_name like 'soul:' || dead || ':%';
  exception when insufficient_privilege then null;
  end;
  return true;
end $$;

-- Take over the cleaning up after dead daemons. Each has one daemon that cleans up.
create or replace function soul_claim_dead(me bigint) returns jsonb language plpgsql as $$
declare claimed jsonb;
begin
  with mine as (
    update soul_daemon d set cleaned_by = me
    where not d.cleaned and not soul_is_alive(d.worker_id)
      and (d.cleaned_by is null or d.cleaned_by <> me and not soul_is_alive(d.cleaned_by))
    returning d.*)
  select coalesce(jsonb_agg(to_jsonb(mine) || '{"silent": 0}'), '[]') into claimed from mine;
  return claimed;
end $$;

create or replace function soul_cleaned(me bigint, dead bigint) returns void language plpgsql as $$
begin
  update soul_daemon set cleaned = true where worker_id = dead and cleaned_by = me;
  delete from soul_daemon d where d.cleaned and not soul_may_have_sockets(d.sockets_until);
end $$;

-- Let a commit survive a crash of the log, even where others may not.
create or replace function soul_make_durable() returns void language plpgsql as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'local', true);
  end if;
end $$;

-- Register a daemon, unless one of the same machine or with another AT_WORK is alive.
create or replace function soul_join(facts jsonb, may_judge boolean, silence double precision,
  gone double precision) returns jsonb language plpgsql as $$
declare me bigint; rivals jsonb;
begin
  perform soul_make_durable();
  perform pg_advisory_xact_lock(soul_lock_class('join'), 0);
  if may_judge and soul_was_up(silence) then perform soul_count_dead(0, silence, gone); end if;
  select jsonb_agg(jsonb_build_object('machine', d.machine, 'at_work', d.at_work,
      'heard', extract(epoch from w.last_heartbeat)))
    into rivals from soul_daemon d join procrastinate_workers w on w.id = d.worker_id
    where d.machine = facts->>'machine' or d.at_work <> facts->>'at_work';
  if rivals is not null then
    return jsonb_build_object('worker_id', null, 'time', soul_now(), 'rivals', rivals);
  end if;
  select worker_id into me from procrastinate_register_worker_v1();
  insert into soul_daemon(worker_id, machine, at_work, working, version, digests, sockets, clock_offset,
      address, backend_pid)
    values(me, facts->>'machine', facts->>'at_work', (facts->>'working')::boolean, facts->>'version',
      facts->'digests', 0, (facts->>'clock_offset')::double precision, facts->>'address', pg_backend_pid());
  perform pg_advisory_lock(soul_lock_class('daemon'), me::integer);
  perform set_config('application_name', 'soul:' || me || ':membership', false);
  return jsonb_build_object('worker_id', me, 'time', soul_now(), 'rivals', '[]'::jsonb);
end $$;

-- Go on in a new session; the old one may still hold the locks. False: this daemon counts as dead.
create or replace function soul_rejoin(me bigint) returns boolean language plpgsql as $$
declare former integer;
begin
  -- First, so that nobody counts this daemon as dead while neither session has the lock.
  update procrastinate_workers set last_heartbeat = clock_timestamp() where id = me;
  if not found then return false; end if;
  select backend_pid into former from soul_daemon where worker_id = me;
  perform pg_terminate_backend(a.pid, 1000) from pg_stat_activity a
    where a.pid = former and a.pid <> pg_backend_pid()
      and a.application_name = 'soul:' || me || ':membership';
  if not pg_try_advisory_lock(soul_lock_class('daemon'), me::integer) then
    raise exception 'the former session of daemon % has not ended yet', me;
  end if;
  update soul_daemon set backend_pid = pg_backend_pid() where worker_id = me;
  return true;
end $$;

-- Renew the heartbeat, state the facts (null: as before), judge the others, take over the cleaning up.
-- `expected`: time at which the daemon expected this to run. If the log was away or its clock was
-- set, nobody is judged.
create or replace function soul_heartbeat(me bigint, facts jsonb, may_judge boolean, may_clean boolean,
  expected double precision, silence double precision, gone double precision) returns jsonb
language plpgsql as $$
declare
  seen double precision := soul_now(); commits text := current_setting('synchronous_commit');
  as_expected boolean; counted boolean := false; dead jsonb := '[]';
begin
  perform set_config('synchronous_commit', 'off', true);  -- a heartbeat is worth nothing after a crash
  update procrastinate_workers set last_heartbeat = clock_timestamp() where id = me;
  if not found then return jsonb_build_object('alive', false); end if;
  as_expected := abs(seen - expected) < 1;
  if facts is not null then
    update soul_daemon set working = (facts->>'working')::boolean, version = facts->>'version',
      digests = facts->'digests', address = facts->>'address',
      clock_offset = (facts->>'clock_offset')::double precision where worker_id = me;
  end if;
  if may_judge and as_expected and soul_was_up(silence) then
    counted := soul_count_dead(me, silence, gone);
  end if;
  if may_clean then dead := soul_claim_dead(me); end if;
  if counted or dead <> '[]' then perform set_config('synchronous_commit', commits, true); end if;
  return jsonb_build_object(
    'alive', true, 'time', seen, 'as_expected', as_expected, 'dead', dead, 'daemons', (
      select jsonb_agg(to_jsonb(d) || jsonb_build_object(
          'silent', greatest(0, extract(epoch from clock_timestamp() - w.last_heartbeat)))
          order by d.machine, d.worker_id)
        from soul_daemon d join procrastinate_workers w on w.id = d.worker_id));
end $$;

-- Renew the heartbeat; which of these attempts has the lease of its thread? Null: this daemon counts as dead.
create or replace function soul_confirm(me bigint, threads text[], epochs bigint[]) returns boolean[]
language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  update procrastinate_workers set last_heartbeat = clock_timestamp() where id = me;
  if not found then return null; end if;
  return array(
    select exists(select from lease l where l.thread = asked.thread and l.epoch = asked.epoch)
    from unnest(threads, epochs) with ordinality as asked(thread, epoch, place) order by place);
end $$;

-- Take roles that nobody alive has; return those that this daemon has now.
create or replace function soul_take_roles(me bigint, names text[]) returns text[] language plpgsql as $$
declare role text; taken text[] := '{}';
begin
  perform soul_make_durable();
  if not soul_is_alive(me) then return taken; end if;
  foreach role in array names loop
    if pg_try_advisory_lock(soul_lock_class('role'), hashtext(role)) then
      insert into soul_role as r values(role, me) on conflict(name) do update set worker_id = me
        where r.worker_id = me or not soul_is_alive(r.worker_id);
      if found then
        taken := taken || role;
      else
        perform pg_advisory_unlock(soul_lock_class('role'), hashtext(role));
      end if;
    end if;
  end loop;
  return taken;
end $$;

-- Does another daemon that is alive have one of these roles?
create or replace function soul_has_lost_role(me bigint, names text[]) returns boolean
language sql volatile as $$
  select exists(
    select from soul_role where name = any(names) and worker_id <> me and soul_is_alive(worker_id)) $$;

-- Let go of a role.
create or replace function soul_release_role(me bigint, role text) returns void language plpgsql as $$
begin
  delete from soul_role where name = role and worker_id = me;
  perform pg_advisory_unlock(soul_lock_class('role'), hashtext(role));
end $$;

-- How many of the wanted sockets this daemon may have; all together have at most `most`.
create or replace function soul_take_sockets(me bigint, wanted integer, most integer) returns integer
language plpgsql as $$
declare others integer; taken integer;
begin
  perform soul_make_durable();
  perform pg_advisory_xact_lock(soul_lock_class('sockets'), 0);
  select coalesce(sum(d.sockets), 0) into others from soul_daemon d
    where d.worker_id <> me and (soul_is_alive(d.worker_id) or soul_may_have_sockets(d.sockets_until));
  taken := greatest(0, least(wanted, most - others));
  update soul_daemon set sockets = taken where worker_id = me and soul_is_alive(me);
  if not found then return 0; end if;
  return taken;
end $$;

-- End in good order: nobody has to clean up.
create or replace function soul_leave(me bigint) returns void language plpgsql as $$
begin
  delete from soul_daemon where worker_id = me;
  perform procrastinate_unregister_worker_v1(me);
end $$;
"""
"""Functions; they may be made anew at any time, with the daemons of one version."""
