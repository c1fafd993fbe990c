-- Revision 1.
-- Whose turn it is among the keys of a queue (decision 044).
--
-- The keys that have due runs form a ring in byte order. Each key in turn gives as many runs as it weighs; the turn begins
-- where the last claim left it, in the middle of a key if need be. The index leads from key to key, so a claim visits about as
-- many keys as it takes runs, however many there are and however much waits under each. Keys whose runs are due later are
-- passed by, at most 2,000 of them in one claim.
--
-- Claims with the same scope take turns one after the other, or both would serve the same keys. One that has waited half a
-- second goes on: fairness must not stop the work.

-- The first due runs of a key, numbered from 1: at most `most`. STABLE, so that it becomes a part of the statement that calls it.
CREATE OR REPLACE FUNCTION workflow.fair_due(of_queue text, at_priority integer, of_types text[], of_key text, most integer,
  of_tenant text, full_keys text[], at timestamptz)
RETURNS TABLE (id uuid, n integer) LANGUAGE sql STABLE AS $$
  SELECT d.id, (row_number() OVER (ORDER BY d.run_at, d.id))::integer FROM (
    SELECT c.id, c.run_at FROM unnest(of_types) t(type) CROSS JOIN LATERAL
      (SELECT r.id, r.run_at FROM workflow.workflow_run r
       WHERE r.status = 'pending' AND r.deleted_at IS NULL AND r.queue = of_queue AND r.type = t.type
         AND r.priority = at_priority AND r.fair_key = of_key AND r.run_at <= at
         AND (r.expires_at IS NULL OR r.expires_at > at) AND (of_tenant IS NULL OR r.tenant = of_tenant)
         AND (r.limit_key IS NULL OR r.limit_key <> ALL (full_keys))
       ORDER BY r.run_at, r.id LIMIT most) c
    ORDER BY c.run_at, c.id LIMIT most) d
$$;

CREATE OR REPLACE FUNCTION workflow.fair_runs(of_queue text, at_priority integer, of_types text[], wanted integer,
  of_scope text, of_tenant text, full_keys text[])
RETURNS TABLE (run uuid, used integer, place bigint)
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
DECLARE
  at timestamptz := workflow.clock();
  last_key text;
  last_used integer;
  head_runs integer := 0;
  keys text[] := '{}';
  weights integer[] := '{}';
  here text;
  upcoming text;
  weight integer;
  due integer;
  found_runs integer := 0;
  visited integer := 0;
  wrapped boolean := false;
  head_only boolean := false;
  laps integer;
  ids uuid[];
  uses integer[];
  more boolean;
BEGIN
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(of_queue || ' ' || at_priority || ' ' || of_scope, 35));
  EXCEPTION WHEN lock_not_available THEN NULL;
  END;
  SELECT t.key, t.used INTO last_key, last_used FROM workflow.workflow_fair_turn t
  WHERE t.queue = of_queue AND t.priority = at_priority AND t.scope = of_scope;
  last_key := coalesce(last_key, '');
  IF last_used IS NOT NULL THEN
    head_runs := greatest(0, coalesce((SELECT w.weight FROM workflow.workflow_fair_weight w WHERE w.queue = of_queue AND w.key = last_key), 1) - last_used);
  END IF;
  IF head_runs > 0 THEN
    found_runs := cardinality(ARRAY(
      SELECT f.id FROM workflow.fair_due(of_queue, at_priority, of_types, last_key, least(head_runs, wanted), of_tenant, full_keys, at) f));
  END IF;

  here := last_key;
  WHILE found_runs < wanted AND visited < 2000 LOOP
    SELECT n.fair_key INTO upcoming FROM unnest(of_types) t(type) CROSS JOIN LATERAL
      (SELECT r.fair_key FROM workflow.workflow_run r
       WHERE r.status = 'pending' AND r.deleted_at IS NULL AND r.queue = of_queue AND r.type = t.type
         AND r.priority = at_priority AND r.fair_key > here COLLATE "C"
       ORDER BY r.fair_key, r.run_at, r.id LIMIT 1) n
    ORDER BY n.fair_key LIMIT 1;
    IF upcoming IS NULL THEN
      EXIT WHEN wrapped;
      wrapped := true;
      here := '';
      CONTINUE;
    END IF;
    EXIT WHEN wrapped AND upcoming > last_key COLLATE "C";
    here := upcoming;
    visited := visited + 1;
    weight := coalesce((SELECT w.weight FROM workflow.workflow_fair_weight w WHERE w.queue = of_queue AND w.key = here), 1);
    due := cardinality(ARRAY(
      SELECT f.id FROM workflow.fair_due(of_queue, at_priority, of_types, here, least(weight, wanted), of_tenant, full_keys, at) f));
    IF due > 0 THEN
      keys := keys || here;
      weights := weights || weight;
      found_runs := found_runs + due;
    END IF;
  END LOOP;

  laps := greatest(1, ceil(wanted::numeric / greatest(1, (SELECT sum(w) FROM unnest(weights) w))));
  IF head_runs > 0 AND NOT last_key = ANY (keys) THEN
    head_only := true;
    keys := keys || last_key;
    weights := weights || coalesce((SELECT w.weight FROM workflow.workflow_fair_weight w WHERE w.queue = of_queue AND w.key = last_key), 1);
  END IF;
  LOOP
    SELECT array_agg(x.id ORDER BY x.lap, x.pos, x.n), array_agg(x.used ORDER BY x.lap, x.pos, x.n), bool_or(x.n = x.most AND NOT x.ends)
    INTO ids, uses, more
    FROM (
      SELECT f.id, f.n, k.pos, k.most, k.ends,
        CASE WHEN f.n <= k.head THEN 0 ELSE 1 + (f.n - k.head - 1) / k.weight END AS lap,
        CASE WHEN f.n <= k.head THEN k.weight - k.head + f.n ELSE (f.n - k.head - 1) % k.weight + 1 END AS used
      FROM (
        SELECT e.*, e.head + CASE WHEN e.ends THEN 0 ELSE laps * e.weight END AS most
        FROM (
          SELECT o.key, o.weight, o.pos, CASE WHEN o.key = last_key THEN head_runs ELSE 0 END AS head,
            o.key = last_key AND head_only AS ends
          FROM unnest(keys, weights) WITH ORDINALITY o(key, weight, pos)) e) k
      CROSS JOIN LATERAL workflow.fair_due(of_queue, at_priority, of_types, k.key, least(k.most, wanted), of_tenant, full_keys, at) f) x;
    EXIT WHEN NOT coalesce(more, false) OR cardinality(ids) >= wanted;
    laps := laps * 4;
  END LOOP;
  RETURN QUERY SELECT o.run, o.used, o.place FROM unnest(ids, uses) WITH ORDINALITY o(run, used, place) LIMIT wanted;
END
$$;
