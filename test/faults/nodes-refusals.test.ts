import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES } from "../kit/postgres.ts";
import { type DaemonProcess, handOver } from "./daemon.harness.ts";
import { type Nodes, PATIENCE, startNodes } from "./nodes.harness.ts";

let nodes: Nodes;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) nodes = await startNodes();
});
afterAll(() => nodes?.close());

/** The server runs `body` before it writes a row of `table` that `when` is true for; `public.tries` counts, `public.refused` has the start. */
function refuse(table: string, when: string, body: string): void {
  nodes.server.sql(`
    DROP TABLE IF EXISTS public.refused;
    CREATE TABLE public.refused AS SELECT clock_timestamp() AS since;
    CREATE SEQUENCE IF NOT EXISTS public.tries;
    ALTER SEQUENCE public.tries RESTART;
    CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} RETURN NEW; END $$;
    DROP TRIGGER IF EXISTS refuse ON "${nodes.schema}".doc;
    DROP TRIGGER IF EXISTS refuse ON "${nodes.schema}".lane_item;
    CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON "${nodes.schema}".${table} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION public.refuse();`);
}
const start = (text: string) => `NEW.value LIKE '%"text":"${text}"%' AND NEW.value LIKE '%"attempts":1%' AND NEW.value LIKE '%"in-flight"%'`;
/** A server that is away for so long, as far as this write can tell. */
const away = (seconds: number) =>
  `IF clock_timestamp() < (SELECT since FROM public.refused) + interval '${seconds} s' THEN RAISE EXCEPTION 'away' USING ERRCODE = '57014'; END IF;`;

const skipped = NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`;
describe.skipIf(NO_POSTGRES !== undefined)(`a shared database that refuses single writes${skipped}`, { timeout: 90_000 }, () => {
  it("FAULT-06 a node that is declared dead when it notes a start does not begin the run: the other one does, in the first attempt", async () => {
    const [one, two] = await nodes.both();
    refuse("doc", start("fenced start"), "IF nextval('public.tries') = 1 THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'SV001'; END IF;");
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
    refuse("doc", start("hold late"), away(7));
    nodes.hold();
    const id = await nodes.send(one, "hold late", "late");
    const { name, daemon, other } = await nodes.worker(id);
    expect(await nodes.trace(await nodes.node(other), id)).toMatchObject({ status: "in-flight", attempts: 1 });
    await daemon.kill("SIGKILL");
    await vi.waitFor(() => expect(nodes.begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    nodes.goOn();
    expect(await nodes.finished(await nodes.node(other), id)).toMatchObject({ attempts: 2 });
  });

  it("FAULT-01 a message that has no place in its conversation for 12 s is not acknowledged: with its key it is, once, and the next one stands behind it", async () => {
    const daemons = await nodes.both();
    refuse("lane_item", "NEW.lane LIKE '%unplaced%'", away(16));
    const say = (to: DaemonProcess, message: string) =>
      handOver(to.port, { agent: "held", message, context: { channel: "http", chatId: "unplaced" } }, `key of ${message}`);
    await expect(say(daemons[0], "first")).rejects.toThrow(/503.*SVC_TASK_UNPLACED/);
    const { taskId: first } = await say(daemons[1], "first");
    const { taskId: second } = await say(daemons[1], "second");
    for (const id of [first, second]) await nodes.finished(daemons[1], id);
    const begun = nodes.noted().filter(({ chat, at }) => chat === "unplaced" && at === "begin");
    expect(begun.map(({ text }) => text)).toEqual(["first", "second"]);
  });
});
