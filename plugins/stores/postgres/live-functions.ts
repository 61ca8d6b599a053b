/** Growing answers: a row for a turn that somebody watches at another daemon, as long as it is watched. */
export const LIVE_FUNCTIONS = `
-- \`running\`: turns of the caller. \`said\`: what those of them have said that are watched; \`z\` is its length as the caller counts. \`gone\`: turns that
-- have ended. \`watched\`: what the caller wants to see, with how much it knows. Writes nothing where nobody watches.
CREATE OR REPLACE FUNCTION {s}.live_answers(running text[], said jsonb, gone text[], watched jsonb) RETURNS jsonb LANGUAGE plpgsql SET search_path = {s}, pg_temp AS $$
DECLARE
  one jsonb; from_at integer;
BEGIN
  IF cardinality(gone) > 0 THEN DELETE FROM live WHERE task = ANY (gone); END IF;
  FOR one IN SELECT value FROM jsonb_array_elements(said) LOOP
    from_at := (one ->> 'at')::integer;
    UPDATE live SET text = CASE WHEN from_at = 0 THEN one ->> 'x' ELSE text || (one ->> 'x') END, size = from_at + (one ->> 'z')::integer
      WHERE task = one ->> 'i' AND (from_at = 0 OR size = from_at);
  END LOOP;
  INSERT INTO live AS was (task, asked_until) SELECT key, clock_timestamp() + interval '3 s' FROM jsonb_each(watched) ORDER BY key COLLATE "C"
    ON CONFLICT (task) DO UPDATE SET asked_until = excluded.asked_until WHERE was.asked_until < clock_timestamp() + interval '2 s';
  RETURN jsonb_build_array(
    (SELECT coalesce(jsonb_agg(jsonb_build_array(task, size)), '[]') FROM live WHERE task = ANY (running) AND asked_until > clock_timestamp()),
    (SELECT coalesce(jsonb_agg(jsonb_build_array(l.task, l.text)), '[]') FROM live l JOIN jsonb_each_text(watched) w ON w.key = l.task
      WHERE l.size <> w.value::integer AND l.size > 0));
END $$;
`;
