import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES } from "../kit/postgres.ts";
import { type Nodes, PATIENCE, startNodes } from "./nodes.harness.ts";

let nodes: Nodes;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) nodes = await startNodes();
});
afterAll(() => nodes?.close());

/** The server answers the first note that a task with this text has begun by running `body`; `tries` has how often it was asked. */
function refuseStart(text: string, body: string): void {
  nodes.server.sql(`
    DROP TRIGGER IF EXISTS refuse_start ON "${nodes.schema}".doc;
    CREATE TABLE IF NOT EXISTS public.refused (since timestamptz);
    DELETE FROM public.refused;
    CREATE SEQUENCE IF NOT EXISTS public.tries;
    ALTER SEQUENCE public.tries RESTART;
    CREATE OR REPLACE FUNCTION public.refuse_start() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
    CREATE TRIGGER refuse_start BEFORE INSERT OR UPDATE ON "${nodes.schema}".doc FOR EACH ROW
      WHEN (NEW.value LIKE '%"text":"${text}"%' AND NEW.value LIKE '%"attempts":1%' AND NEW.value LIKE '%"in-flight"%')
      EXECUTE FUNCTION public.refuse_start();
    INSERT INTO public.refused VALUES (clock_timestamp());`);
}

describe.skipIf(NO_POSTGRES !== undefined)(
  `the count of a run on a shared database${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`,
  {
    timeout: 90_000,
  },
  () => {
    it("FAULT-06 a node that is declared dead when it notes a start does not begin the run: the other one does, in the first attempt", async () => {
      const [one, two] = await nodes.both();
      refuseStart("fenced start", "IF nextval('public.tries') = 1 THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'SV001'; END IF;");
      const id = await nodes.send(one, "fenced start", "fenced");
      const dead = await Promise.race([one.ended.then(() => "n1"), two.ended.then(() => "n2")]);
      const other = dead === "n1" ? "n2" : "n1";
      const done = await nodes.finished(await nodes.node(other), id);
      expect(nodes.begun(id)).toMatchObject([{ node: other }]);
      expect(done).toMatchObject({ attempts: 1, response: `${other} did fenced start` });
    });

    it("FAULT-05 a run begins when its start is stored, however long the server takes nothing, and a kill after that is another attempt", async () => {
      const [one] = await nodes.both();
      // Longer than a writer waits before it tells its caller.
      refuseStart(
        "hold late",
        "IF clock_timestamp() < (SELECT since FROM public.refused) + interval '7 s' THEN RAISE EXCEPTION 'away' USING ERRCODE = '57014'; END IF;",
      );
      nodes.hold();
      const id = await nodes.send(one, "hold late", "late");
      const { name, daemon, other } = await nodes.worker(id);
      expect(await nodes.trace(await nodes.node(other), id)).toMatchObject({ status: "in-flight", attempts: 1 });
      await daemon.kill("SIGKILL");
      await vi.waitFor(() => expect(nodes.begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
      nodes.goOn();
      expect(await nodes.finished(await nodes.node(other), id)).toMatchObject({ attempts: 2 });
    });
  },
);
