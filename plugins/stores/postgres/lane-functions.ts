/** For how long a lane that may start is left to its home, in milliseconds. */
const HOME_MS = 1_000;

/**
 * Queue of waiting and running work. The row of a lane is its lock: every change of the lane begins with that row, so that no two daemons compute the
 * next batch from different states.
 *
 *   idle, or no row --enter--> ready --claim--> running --finish--> ended --leave--> the next batch is ready, or idle, or no row
 *                                ^   <--release, unpark, sweep--'  | park
 *                                '---------- unpark ------------ parked
 *
 * A lane with a home is idle where one without has no row. While its home lives and is not draining, another daemon leaves it to that one, with the
 * slot that it would take, and takes it only after waiting \`HOME_MS\`: then the home is too busy, or does not know the agent.
 *
 * Locks are taken in the order agent, lane, entry. Only `claim_lanes` locks agents, and it skips locked lanes.
 */
export const LANE_FUNCTIONS = `
-- The lane goes on: with the batch that was given back, else with the first that waits, else not at all. The caller holds its row. A lane
-- that was in line for the same agent keeps its place when \`stays\`.
CREATE OR REPLACE FUNCTION {s}.lane_next(of_key text, stays boolean) RETURNS void LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  first lane_item%ROWTYPE; l lane%ROWTYPE; number bigint;
BEGIN
  SELECT * INTO l FROM lane WHERE key = of_key;
  SELECT * INTO first FROM lane_item WHERE lane = of_key ORDER BY taken DESC, pos LIMIT 1;
  IF first.id IS NULL AND l.home IS NULL THEN
    DELETE FROM lane WHERE key = of_key;
  ELSIF first.id IS NULL THEN
    UPDATE lane SET state = 'idle', slot = false, unparked = false, owner = NULL, token = NULL, since = clock_timestamp() WHERE key = of_key;
  ELSIF stays AND l.state = 'ready' AND l.agent = first.agent THEN
    RETURN;
  ELSE
    number := nextval('lane_place');
    UPDATE lane SET state = 'ready', agent = first.agent, slot = false, unparked = false, owner = NULL, token = NULL, since = NULL,
      rank = CASE WHEN first.taken THEN 0 WHEN first.front THEN 1 ELSE 2 END,
      place = CASE WHEN first.front AND NOT first.taken THEN -number ELSE number END
      WHERE key = of_key;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION {s}.lane_enter(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  k text := op ->> 'l'; ahead boolean := coalesce((op ->> 'front')::boolean, false); l lane%ROWTYPE; one jsonb; number bigint; how text := 'queued';
BEGIN
  INSERT INTO lane AS was (key) VALUES (k) ON CONFLICT (key) DO UPDATE SET entered = was.entered + 1 RETURNING * INTO l;
  IF EXISTS (SELECT 1 FROM lane_item WHERE id = op ->> 'i') THEN
    IF l.state = 'idle' THEN DELETE FROM lane WHERE key = k AND home IS NULL; END IF;
    RETURN to_jsonb(how);
  END IF;
  IF op ? 'old' THEN
    UPDATE lane_item SET stop = op -> 'stop' WHERE id = op ->> 'old' AND taken;
    IF FOUND THEN how := 'asked'; END IF;
  END IF;
  IF l.state <> 'idle' AND op ->> 'm' = 'drop' AND NOT ahead AND NOT coalesce((op ->> 'keep')::boolean, false) THEN RETURN to_jsonb('dropped'::text); END IF;
  -- Under the lane's lock: within a lane numbers follow the order of the entries.
  number := nextval('lane_place');
  INSERT INTO lane_item (id, lane, pos, agent, mode, sort, size, front)
    VALUES (op ->> 'i', k, CASE WHEN ahead THEN -number ELSE number END, op ->> 'a', op ->> 'm', op ->> 's', coalesce((op ->> 'z')::integer, 0), ahead);
  FOR one IN SELECT value FROM jsonb_array_elements(coalesce(op -> 'w', '[]')) LOOP PERFORM write_doc(one); END LOOP;
  IF l.state = 'idle' THEN PERFORM lane_next(k, false);
  ELSIF l.state = 'ready' AND ahead AND l.rank > 0 THEN PERFORM lane_next(k, false);
  END IF;
  RETURN to_jsonb(how);
END $$;

CREATE OR REPLACE FUNCTION {s}.lane_cancel(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  k text; l lane%ROWTYPE; mine lane_item%ROWTYPE;
BEGIN
  SELECT lane INTO k FROM lane_item WHERE id = op ->> 'i';
  SELECT * INTO l FROM lane WHERE key = k FOR UPDATE;
  -- Read again under the lock: it may have been claimed, or have ended, meanwhile.
  SELECT * INTO mine FROM lane_item WHERE id = op ->> 'i' AND lane = k;
  IF mine.id IS NULL THEN RETURN to_jsonb('absent'::text); END IF;
  IF mine.taken AND (l.state IN ('running', 'parked') OR l.unparked) THEN
    UPDATE lane_item SET stop = op -> 'stop' WHERE id = mine.id;
    RETURN to_jsonb('asked'::text);
  END IF;
  DELETE FROM lane_item WHERE id = mine.id;
  IF l.state = 'ready' THEN PERFORM lane_next(k, l.rank > 0 OR EXISTS (SELECT 1 FROM lane_item WHERE lane = k AND taken)); END IF;
  RETURN to_jsonb('removed'::text);
END $$;

-- With \`h\` its daemon is the home of the lane. Answers 'finished', 'repeated' when an earlier call of this claim did, or 'fenced'.
CREATE OR REPLACE FUNCTION {s}.lane_finish(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  l lane%ROWTYPE;
BEGIN
  SELECT * INTO l FROM lane WHERE key = op ->> 'l' AND token = (op ->> 't')::uuid FOR UPDATE;
  IF l.state = 'ended' THEN RETURN to_jsonb('repeated'::text); END IF;
  IF l.state IS NULL OR l.state NOT IN ('running', 'parked') THEN RETURN to_jsonb('fenced'::text); END IF;
  DELETE FROM lane_item WHERE lane = l.key AND taken;
  UPDATE lane SET state = 'ended', home = CASE WHEN op ? 'h' THEN (SELECT folder FROM node WHERE boot = l.owner) ELSE home END WHERE key = l.key;
  RETURN to_jsonb('finished'::text);
END $$;

-- leave, release, park and unpark: true where the claim was held as the call needs it.
CREATE OR REPLACE FUNCTION {s}.lane_change(op jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  l lane%ROWTYPE; how text := op ->> 'do';
BEGIN
  SELECT * INTO l FROM lane WHERE key = op ->> 'l' AND token = (op ->> 't')::uuid FOR UPDATE;
  IF l.key IS NULL THEN RETURN 'false'; END IF;
  IF how = 'leave' AND l.state IN ('running', 'parked', 'ended') THEN
    DELETE FROM lane_item WHERE lane = l.key AND taken;
    PERFORM lane_next(l.key, false);
  ELSIF how = 'giveback' AND l.state IN ('running', 'parked') THEN
    PERFORM lane_next(l.key, false);
  ELSIF how = 'park' AND l.state = 'running' THEN
    UPDATE lane SET state = 'parked', slot = false WHERE key = l.key;
  ELSIF how = 'park' AND l.unparked THEN
    UPDATE lane SET state = 'parked', unparked = false WHERE key = l.key;
  ELSIF how = 'unpark' AND l.state = 'parked' THEN
    -- Owner and token stay: its turn stands still in the daemon that owns it.
    UPDATE lane SET state = 'ready', unparked = true, rank = 0, place = nextval('lane_place') WHERE key = l.key;
  ELSE
    RETURN 'false';
  END IF;
  RETURN 'true';
END $$;

-- What may start by now, for the agents of the list. Under an agent's lock the slots are counted by a statement of its own, which sees what
-- those committed who had the lock before.
CREATE OR REPLACE FUNCTION {s}.claim_lanes(me bigint, agents jsonb, want integer, items_limit integer, size_limit integer)
RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  one jsonb; of_agent text; left_over integer := want; free integer; l lane%ROWTYPE; key_token uuid; found_claims jsonb[] := '{}';
  own_home text; homes text[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM node WHERE boot = me AND alive) THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'SV001'; END IF;
  IF EXISTS (SELECT 1 FROM node WHERE boot = me AND draining) THEN agents := '[]'; END IF;
  SELECT folder INTO own_home FROM node WHERE boot = me;
  homes := array(SELECT folder FROM node WHERE alive AND NOT draining AND lease_until > clock_timestamp() AND folder <> own_home);
  FOR one IN SELECT value FROM jsonb_array_elements(agents) ORDER BY value ->> 'a' COLLATE "C" LOOP
    of_agent := one ->> 'a';
    CONTINUE WHEN left_over <= 0 OR NOT EXISTS (SELECT 1 FROM lane WHERE agent = of_agent AND state = 'ready');
    INSERT INTO lane_agent (id) VALUES (of_agent) ON CONFLICT DO NOTHING;
    PERFORM 1 FROM lane_agent WHERE id = of_agent FOR UPDATE;
    free := (one ->> 'n')::integer - (SELECT count(*) FROM lane WHERE agent = of_agent AND slot);
    FOR l IN SELECT * FROM lane WHERE agent = of_agent AND state = 'ready' AND (owner IS NULL OR owner = me)
      ORDER BY rank, place LIMIT greatest(0, free) FOR UPDATE SKIP LOCKED
    LOOP
      EXIT WHEN left_over <= 0;
      IF l.owner IS NULL AND l.home = ANY (homes) AND (l.since IS NULL OR l.since > clock_timestamp() - ${HOME_MS} * interval '1 ms') THEN
        IF l.since IS NULL THEN UPDATE lane SET since = clock_timestamp() WHERE key = l.key; END IF;
        CONTINUE;
      END IF;
      PERFORM lane_take(l.key, one ->> 'm', items_limit, size_limit);
      key_token := gen_random_uuid();
      UPDATE lane_item SET attempt = attempt + 1, started_by = started_by || me WHERE lane = l.key AND taken;
      UPDATE lane SET state = 'running', slot = true, unparked = false, owner = me, token = key_token, since = NULL WHERE key = l.key;
      left_over := left_over - 1;
      found_claims := array_append(found_claims, lane_claim(l.key));
    END LOOP;
  END LOOP;
  RETURN to_jsonb(found_claims);
END $$;

-- Marks the next batch of a lane: the same as before where it was given back, else the first that waits, under collect with what joins it.
CREATE OR REPLACE FUNCTION {s}.lane_take(of_key text, of_mode text, items_limit integer, size_limit integer) RETURNS void
LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  first lane_item%ROWTYPE; next lane_item%ROWTYPE; n integer := 0; total integer := 0;
BEGIN
  IF EXISTS (SELECT 1 FROM lane_item WHERE lane = of_key AND taken) THEN RETURN; END IF;
  FOR next IN SELECT * FROM lane_item WHERE lane = of_key ORDER BY pos LIMIT items_limit LOOP
    total := total + next.size;
    IF n = 0 THEN first := next;
    ELSE EXIT WHEN next.front OR next.agent <> first.agent OR total > size_limit OR next.sort IS DISTINCT FROM first.sort;
    END IF;
    UPDATE lane_item SET taken = true WHERE id = next.id;
    n := n + 1;
    EXIT WHEN first.front OR coalesce(of_mode, first.mode) <> 'collect';
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION {s}.lane_claim(of_key text) RETURNS jsonb LANGUAGE sql STABLE SET search_path = {s}, pg_temp AS $$
  SELECT jsonb_build_object('c', l.key, 'a', l.agent, 't', l.token, 'b', jsonb_agg(jsonb_build_array(i.id, i.attempt, i.stop) ORDER BY i.pos))
    || CASE WHEN l.home <> (SELECT folder FROM node WHERE boot = l.owner)
      THEN jsonb_build_object('h', (SELECT coalesce(max(name), l.home) FROM node WHERE folder = l.home)) ELSE '{}' END
  FROM lane l JOIN lane_item i ON i.lane = l.key AND i.taken WHERE l.key = of_key GROUP BY l.key
$$;

CREATE OR REPLACE FUNCTION {s}.lanes_held(me bigint) RETURNS jsonb LANGUAGE sql STABLE SET search_path = {s}, pg_temp AS $$
  SELECT coalesce(jsonb_agg(coalesce(lane_claim(key), jsonb_build_object('c', key, 'a', agent, 't', token, 'b', '[]'::jsonb)) ORDER BY place), '[]')
  FROM lane WHERE owner = me
$$;

-- Frees what dead daemons hold, by the state of the lanes alone: a claim that was on its way when its daemon was declared dead is found, too.
-- Items of queues that dead daemons have leased are due at once.
CREATE OR REPLACE FUNCTION {s}.sweep_lanes(lease_ms integer) RETURNS integer LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  k text; n integer := 0;
BEGIN
  IF is_up_long_enough(lease_ms) THEN
    UPDATE node SET alive = false WHERE boot IN (SELECT boot FROM node WHERE alive AND lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED);
  END IF;
  FOR k IN SELECT key FROM lane WHERE owner IS NOT NULL AND NOT EXISTS (SELECT 1 FROM node WHERE boot = owner AND alive) FOR UPDATE SKIP LOCKED LOOP
    PERFORM lane_next(k, false);
    n := n + 1;
  END LOOP;
  -- What was asked for by a daemon that is gone, or just when it ended.
  DELETE FROM live WHERE asked_until < clock_timestamp() - interval '3 s';
  UPDATE item SET due = 0 WHERE seq IN (SELECT i.seq FROM item i WHERE i.leased AND i.due > 0 AND i.owner IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM node WHERE boot = i.owner AND alive) FOR UPDATE SKIP LOCKED);
  RETURN n;
END $$;
`;
