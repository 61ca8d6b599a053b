import { LEASE_MS } from "./node.ts";

/**
 * Functions that run on the server: one call a transaction. Each statement of a function sees all commits from before it began, including those of
 * transactions that it waited for: so lock first, then read in the next statement. Recreated at the start of a program with another text.
 */
export const FUNCTIONS = `
CREATE OR REPLACE FUNCTION {s}.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

CREATE OR REPLACE FUNCTION {s}.conflict(of_name text, of_key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'conflict' USING ERRCODE = 'SV409', DETAIL = jsonb_build_array(of_name, of_key)::text;
END $$;

-- The rows of the declared fields of a document: null is a field without a number or a text.
CREATE OR REPLACE FUNCTION {s}.set_fields(of_collection text, of_key text, fields jsonb) RETURNS void LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
BEGIN
  DELETE FROM doc_field WHERE collection = of_collection AND key = of_key AND fields -> field = 'null';
  INSERT INTO doc_field AS was (collection, key, field, kind, num, txt)
    SELECT of_collection, of_key, f.key, CASE jsonb_typeof(f.value) WHEN 'number' THEN 0 ELSE 1 END,
      CASE jsonb_typeof(f.value) WHEN 'number' THEN (f.value #>> '{}')::double precision ELSE 0 END,
      CASE jsonb_typeof(f.value) WHEN 'number' THEN '' ELSE f.value #>> '{}' END
    FROM jsonb_each(fields) AS f WHERE f.value <> 'null' ORDER BY f.key
  ON CONFLICT (collection, key, field) DO UPDATE SET kind = excluded.kind, num = excluded.num, txt = excluded.txt
    WHERE (was.kind, was.num, was.txt) <> (excluded.kind, excluded.num, excluded.txt);
END $$;

CREATE OR REPLACE FUNCTION {s}.write_doc(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  c text := op ->> 'c'; k text := op ->> 'k'; e text := op ->> 'e'; written bigint;
BEGIN
  IF op ->> 'o' = 'put' THEN
    IF e IS NULL THEN
      INSERT INTO doc AS was (collection, key, version, value) VALUES (c, k, 1, op ->> 'v')
        ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value, version = was.version + 1 RETURNING was.version INTO written;
    ELSIF e = 'absent' THEN
      INSERT INTO doc (collection, key, version, value) VALUES (c, k, 1, op ->> 'v') ON CONFLICT DO NOTHING RETURNING version INTO written;
    ELSE
      UPDATE doc SET value = op ->> 'v', version = version + 1 WHERE collection = c AND key = k AND version = e::bigint RETURNING version INTO written;
    END IF;
    IF written IS NULL THEN PERFORM conflict(c, k); END IF;
    IF op ? 'f' THEN PERFORM set_fields(c, k, op -> 'f'); END IF;
    RETURN to_jsonb(written);
  END IF;
  IF e = 'absent' THEN
    IF EXISTS (SELECT 1 FROM doc WHERE collection = c AND key = k) THEN PERFORM conflict(c, k); END IF;
    RETURN 'null';
  END IF;
  DELETE FROM doc WHERE collection = c AND key = k AND (e IS NULL OR version = e::bigint);
  IF NOT FOUND THEN
    IF e IS NOT NULL THEN PERFORM conflict(c, k); END IF;
    RETURN 'null';
  END IF;
  DELETE FROM doc_field WHERE collection = c AND key = k;
  RETURN 'null';
END $$;

CREATE OR REPLACE FUNCTION {s}.prune_docs(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  c text := op ->> 'c'; spared text := op ->> 'spared'; gone integer;
BEGIN
  WITH first AS (
    SELECT d.key FROM doc d
    WHERE d.collection = c AND (op ->> 'from' IS NULL OR d.key >= op ->> 'from') AND (op ->> 'below' IS NULL OR d.key < op ->> 'below')
      AND NOT EXISTS (SELECT 1 FROM doc_field f WHERE f.collection = c AND f.key = d.key AND f.field = op ->> 'field' AND f.kind = 1 AND f.txt = spared)
    ORDER BY d.key LIMIT (op ->> 'rows')::integer
  ), fields AS (
    DELETE FROM doc_field f USING first WHERE f.collection = c AND f.key = first.key
  ), docs AS (
    DELETE FROM doc d USING first WHERE d.collection = c AND d.key = first.key RETURNING 1
  ) SELECT count(*) INTO gone FROM docs;
  RETURN to_jsonb(gone);
END $$;

CREATE OR REPLACE FUNCTION {s}.push_item(op jsonb, at bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  q text := op ->> 'q'; g text := op ->> 'g'; delay bigint := coalesce((op ->> 'd')::bigint, 0); first boolean := true;
BEGIN
  IF op ? 'k' THEN
    INSERT INTO seen AS was (queue, key, at) VALUES (q, op ->> 'k', push_item.at)
      ON CONFLICT (queue, key) DO UPDATE SET at = excluded.at WHERE was.at < push_item.at - 604800000;
    IF NOT FOUND THEN
      IF op ? 'offer' THEN RETURN 'null'; END IF;
      PERFORM conflict(q, op ->> 'k');
    END IF;
  END IF;
  IF g IS NOT NULL THEN
    INSERT INTO queue_group AS was (queue, grp) VALUES (q, g) ON CONFLICT (queue, grp) DO UPDATE SET pushes = was.pushes + 1;
    first := NOT EXISTS (SELECT 1 FROM item WHERE queue = q AND grp = g);
  END IF;
  INSERT INTO item (queue, id, grp, head, due, since, value)
    VALUES (q, op ->> 'i', g, first, CASE WHEN delay > 0 THEN push_item.at + delay ELSE 0 END, push_item.at, op ->> 'v') ON CONFLICT (queue, id) DO NOTHING;
  IF NOT FOUND THEN PERFORM conflict(q, op ->> 'i'); END IF;
  RETURN op -> 'i';
END $$;

CREATE OR REPLACE FUNCTION {s}.complete_item(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  q text := op ->> 'q'; g text; gone boolean;
BEGIN
  SELECT grp INTO g FROM item WHERE queue = q AND id = op ->> 'i';
  IF g IS NOT NULL THEN PERFORM 1 FROM queue_group WHERE queue = q AND grp = g FOR UPDATE; END IF;
  DELETE FROM item WHERE queue = q AND id = op ->> 'i' AND (NOT op ? 'a' OR (leased AND attempt = (op ->> 'a')::integer));
  gone := FOUND;
  IF NOT gone AND op ? 'a' THEN PERFORM conflict(q, op ->> 'i'); END IF;
  IF gone AND g IS NOT NULL THEN
    UPDATE item SET head = true WHERE seq = (SELECT min(seq) FROM item WHERE queue = q AND grp = g);
    IF NOT FOUND THEN DELETE FROM queue_group WHERE queue = q AND grp = g; END IF;
  END IF;
  RETURN 'null';
END $$;

CREATE OR REPLACE FUNCTION {s}.release_item(op jsonb, at bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  delay bigint := (op ->> 'd')::bigint;
BEGIN
  UPDATE item SET due = CASE WHEN delay > 0 THEN at + delay ELSE 0 END, since = at, leased = false, owner = NULL, value = coalesce(op ->> 'v', value)
    WHERE queue = op ->> 'q' AND id = op ->> 'i' AND (NOT op ? 'a' OR (leased AND attempt = (op ->> 'a')::integer));
  IF NOT FOUND AND op ? 'a' THEN PERFORM conflict(op ->> 'q', op ->> 'i'); END IF;
  RETURN 'null';
END $$;

CREATE OR REPLACE FUNCTION {s}.claim_items(op jsonb, at bigint, me bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  found_items jsonb;
BEGIN
  WITH due_items AS (
    SELECT i.seq, i.leased FROM item i WHERE i.queue = op ->> 'q' AND i.head AND (i.due <= at OR (NOT i.leased AND i.since > at))
    ORDER BY i.seq LIMIT (op ->> 'limit')::integer FOR UPDATE SKIP LOCKED
  ), taken AS (
    UPDATE item i SET due = at + (op ->> 'ms')::bigint, since = at, again = d.leased, leased = true, attempt = i.attempt + 1, owner = me
    FROM due_items d WHERE i.seq = d.seq RETURNING i.seq, i.id, i.value, i.attempt, i.again
  ) SELECT coalesce(jsonb_agg(jsonb_build_array(id, value, attempt, again) ORDER BY seq), '[]') INTO found_items FROM taken;
  RETURN found_items;
END $$;

CREATE OR REPLACE FUNCTION {s}.extend_item(op jsonb, at bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
BEGIN
  UPDATE item SET due = at + (op ->> 'ms')::bigint, since = at WHERE queue = op ->> 'q' AND id = op ->> 'i' AND leased AND attempt = (op ->> 'a')::integer;
  RETURN to_jsonb(FOUND);
END $$;

CREATE OR REPLACE FUNCTION {s}.write_entry(op jsonb, wall bigint) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  number bigint;
BEGIN
  IF op ->> 'o' = 'trim' THEN
    DELETE FROM entry WHERE journal = op ->> 'j'
      AND seq <= (SELECT seq FROM entry WHERE journal = op ->> 'j' ORDER BY seq DESC OFFSET (op ->> 'keep')::integer LIMIT 1);
    RETURN 'null';
  END IF;
  -- The row is the lock: numbers are given in the order of the commits, without a hole.
  INSERT INTO journal AS was (name, last) VALUES (op ->> 'j', 1) ON CONFLICT (name) DO UPDATE SET last = was.last + 1 RETURNING was.last INTO number;
  INSERT INTO entry (journal, seq, at, value) VALUES (op ->> 'j', number, wall, op ->> 'v');
  RETURN to_jsonb(number);
END $$;

-- A group of writes: each set whole or not at all, without regard to the others. Answers a list of [answer] or [null, index, name, key] of a conflict.
-- \`lanes\`, where there are several: their rows are locked first, in one order for all, so that no two groups wait for each other.
CREATE OR REPLACE FUNCTION {s}.commit_group(me bigint, number bigint, sets jsonb, noted boolean, steady bigint, wall bigint, lanes text[])
RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  own node%ROWTYPE; one jsonb; op jsonb; answer jsonb; at integer; detail text; results jsonb[] := '{}';
BEGIN
  SELECT * INTO own FROM node WHERE boot = me FOR UPDATE;
  IF own.boot IS NULL OR NOT own.alive THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'SV001'; END IF;
  -- It was stored; its reply was lost.
  IF own.flush = number THEN RETURN own.answers; END IF;
  IF noted THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  steady := coalesce(steady, now_ms()); wall := coalesce(wall, now_ms());
  IF lanes IS NOT NULL THEN
    INSERT INTO lane AS was (key) SELECT k FROM unnest(lanes) AS k ORDER BY k COLLATE "C" ON CONFLICT (key) DO UPDATE SET entered = was.entered + 1;
  END IF;
  FOR one IN SELECT value FROM jsonb_array_elements(sets) LOOP
    at := 0; answer := 'null';
    BEGIN
      FOR op IN SELECT value FROM jsonb_array_elements(one) LOOP
        answer := CASE op ->> 'o'
          WHEN 'put' THEN write_doc(op) WHEN 'delete' THEN write_doc(op) WHEN 'prune' THEN prune_docs(op)
          WHEN 'push' THEN push_item(op, steady) WHEN 'complete' THEN complete_item(op) WHEN 'release' THEN release_item(op, steady)
          WHEN 'claim' THEN claim_items(op, steady, me) WHEN 'extend' THEN extend_item(op, steady)
          WHEN 'enter' THEN lane_enter(op) WHEN 'cancel' THEN lane_cancel(op) WHEN 'finish' THEN lane_finish(op) WHEN 'lane' THEN lane_change(op)
          ELSE write_entry(op, wall) END;
        -- A claim that was given up or taken over writes nothing.
        EXIT WHEN op ->> 'o' = 'finish' AND answer <> '"finished"';
        at := at + 1;
      END LOOP;
      results := array_append(results, jsonb_build_array(answer));
    EXCEPTION WHEN SQLSTATE 'SV409' THEN
      GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
      results := array_append(results, jsonb_build_array(NULL, at) || detail::jsonb);
    END;
  END LOOP;
  IF lanes IS NOT NULL THEN DELETE FROM lane WHERE key = ANY (lanes) AND state = 'idle' AND home IS NULL; END IF;
  UPDATE node SET flush = number, answers = to_jsonb(results) WHERE boot = me;
  RETURN to_jsonb(results);
END $$;

-- Whether a boot whose lease has run out is dead: after a start of the server nobody could beat, and who was alive has a whole lease from there.
CREATE OR REPLACE FUNCTION {s}.is_up_long_enough(lease_ms integer) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT clock_timestamp() > pg_postmaster_start_time() + lease_ms * interval '1 ms'
$$;

-- A new boot. Those of the same folder are dead: its lock says so.
DROP FUNCTION IF EXISTS {s}.begin_boot(text, text, integer, integer);
CREATE OR REPLACE FUNCTION {s}.begin_boot(of_folder text, of_name text, of_host text, of_pid integer, lease_ms integer) RETURNS bigint LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  made bigint;
BEGIN
  UPDATE node SET alive = false WHERE alive AND (folder = of_folder OR (lease_until < clock_timestamp() AND is_up_long_enough(lease_ms)));
  DELETE FROM node WHERE NOT alive AND lease_until < clock_timestamp() - interval '1 day'
    AND NOT EXISTS (SELECT 1 FROM item WHERE owner = node.boot AND leased);
  INSERT INTO node (folder, name, host, pid, lease_until) VALUES (of_folder, of_name, of_host, of_pid, clock_timestamp() + lease_ms * interval '1 ms') RETURNING boot INTO made;
  RETURN made;
END $$;

-- Ends the leases that dead boots left, and those of the node's own name.
CREATE OR REPLACE FUNCTION {s}.reclaim(me bigint, of_name text) RETURNS void LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
BEGIN
  UPDATE node SET name = of_name WHERE boot = me;
  UPDATE item SET due = 0 WHERE leased AND (owner IS NULL OR owner IN (SELECT boot FROM node WHERE NOT alive OR name = of_name)
    OR NOT EXISTS (SELECT 1 FROM node WHERE boot = item.owner));
END $$;

-- Whether it lives, whether it is asked to end, and the server's time. \`own_skew\`: by how many milliseconds its clock was ahead of the server's.
-- \`told\`: what it tells of itself; null where that is as before.
CREATE OR REPLACE FUNCTION {s}.beat(me bigint, lease_ms integer, own_skew double precision, told jsonb)
RETURNS TABLE (lives boolean, drains boolean, now double precision) LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
BEGIN
  UPDATE node SET lease_until = clock_timestamp() + lease_ms * interval '1 ms', skew = own_skew, about = coalesce(told, about) WHERE boot = me AND alive
    RETURNING true, draining INTO lives, drains;
  now := extract(epoch FROM clock_timestamp()) * 1000;
  RETURN NEXT;
END $$;

-- Stores what this boot tells the others, of which the newest \`kept\` stay, and answers what they told after the numbers in \`heard\`, by boot. Of a
-- boot that has ended a while ago nothing is new to anybody.
CREATE OR REPLACE FUNCTION {s}.exchange_events(me bigint, first bigint, told jsonb, heard jsonb, kept integer, most integer)
RETURNS TABLE (boot bigint, node text, n bigint, value text) LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
BEGIN
  IF jsonb_array_length(told) > 0 THEN
    INSERT INTO event AS e (boot, n, value) SELECT me, first + t.place - 1, t.text FROM jsonb_array_elements_text(told) WITH ORDINALITY AS t (text, place)
      ON CONFLICT DO NOTHING;
    DELETE FROM event e WHERE e.boot = me AND e.n < first + jsonb_array_length(told) - kept;
  END IF;
  RETURN QUERY
    SELECT o.boot, coalesce(o.name, o.folder), e.n, e.value
    FROM node o CROSS JOIN LATERAL (
      SELECT x.n, x.at, x.value FROM event x WHERE x.boot = o.boot AND x.n > coalesce((heard ->> o.boot::text)::bigint, 0) ORDER BY x.n LIMIT most
    ) e
    WHERE o.boot <> me AND o.lease_until > clock_timestamp() - interval '10 min' ORDER BY e.at, o.boot, e.n LIMIT most;
END $$;

DROP FUNCTION IF EXISTS {s}.take_lease(bigint, text, uuid);
-- Whether the name is this boot's now, else who has it. It is kept until it is given back or the lease of its boot has run out, which is dead then.
-- \`judges\`: a holder whose lease has run out is dead.
CREATE OR REPLACE FUNCTION {s}.ask_lease(me bigint, of_name text, of_token uuid, judges boolean) RETURNS TABLE (held boolean, holder text) LANGUAGE plpgsql
SET search_path = {s}, pg_temp AS $$
BEGIN
  held := false;
  IF NOT EXISTS (SELECT 1 FROM node WHERE boot = me AND alive) THEN RETURN NEXT; RETURN; END IF;
  UPDATE node SET alive = false WHERE alive AND lease_until < clock_timestamp() AND boot = (SELECT boot FROM lease WHERE name = of_name) AND boot <> me
    AND judges AND is_up_long_enough(${LEASE_MS});
  INSERT INTO lease AS was (name, boot, token) VALUES (of_name, me, of_token)
    ON CONFLICT (name) DO UPDATE SET boot = excluded.boot, token = excluded.token
    WHERE was.boot = me OR NOT EXISTS (SELECT 1 FROM node WHERE node.boot = was.boot AND node.alive);
  held := FOUND;
  IF NOT held THEN SELECT coalesce(n.name, n.folder) INTO holder FROM lease l JOIN node n ON n.boot = l.boot WHERE l.name = of_name; END IF;
  RETURN NEXT;
END $$;
`;
