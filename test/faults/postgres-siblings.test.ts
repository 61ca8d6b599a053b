import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definePlugin, type Envelope, type PluginContext } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { baseOf, configOf, type Running, runKernel } from "../kit/kernel.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { startTcpProxy, type TcpProxy } from "../kit/tcp-proxy.ts";

let server: TestServer;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());

async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  for (const end = performance.now() + ms; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (performance.now() > end) throw new Error(`${what} did not happen`);
}

type At = ReturnType<TestServer["schema"]>;

interface Node extends Running {
  readonly store: PostgresStore;
  readonly proxy: TcpProxy;
  readonly context: PluginContext;
  /** What a plugin hears that acts on events, and one that shows them. */
  readonly acted: Envelope[];
  readonly shown: Envelope[];
  readonly fired: string[];
}

/** One of several daemons on a schema; `clock` is what it takes for the time of the server. */
async function start(at: At, id: string, clock?: () => number): Promise<Node> {
  const proxy = await startTcpProxy(() => server.port);
  const folder = mkdtempSync(join(tmpdir(), "svc-sibling-"));
  const url = at.url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const store = await openPostgres({ ...at, url, poolSize: 3, folder, shared: true });
  undo.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => proxy.close(),
    () => store.close(),
  );
  let context: PluginContext | undefined;
  const [acted, shown, fired]: [Envelope[], Envelope[], string[]] = [[], [], []];
  const witness = definePlugin({
    kind: "feature",
    name: "witness",
    version: "0.0.1",
    svc: "^0.1.0",
    capabilities: ["events", "jobs"],
    setup(ctx) {
      context = ctx;
      ctx.events.subscribe((envelope) => acted.push(envelope));
      ctx.events.subscribe((envelope) => shown.push(envelope), undefined, { siblings: true });
      ctx.hooks.emit.tap((envelope) => acted.push(envelope));
      ctx.jobs.cron("each-minute", "* * * * *", undefined, async (minute: Date) => void fired.push(minute.toISOString()));
    },
  });
  const running = await runKernel({
    config: { node: { ...configOf().node, id } },
    inline: [witness as never],
    listen: true,
    // Kept in memory, each has its own folders; rows of lanes are not what is looked at here.
    store: { ...store, work: undefined as never, ...(clock === undefined ? {} : { time: clock }), close: async () => undefined },
  });
  return { ...running, store, proxy, context: context as PluginContext, acted, shown, fired };
}

/** The ids of a stream of events, as far as it has come. */
async function listen(node: Node): Promise<string[]> {
  const cut = new AbortController();
  undo.push(() => cut.abort());
  const response = await fetch(`${baseOf(node.kernel)}/events?format=envelope&kind=signal`, { signal: cut.signal });
  expect(response.status).toBe(200);
  const ids: string[] = [];
  void (async () => {
    let text = "";
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const whole = text.slice(0, text.lastIndexOf("\n\n") + 1);
      ids.splice(0, ids.length, ...[...whole.matchAll(/^data: (.+)$/gm)].map(([, data]) => (JSON.parse(data as string) as Envelope).id));
    }
  })().catch(() => {});
  return ids;
}

const later = async (node: Node, since: string) => {
  const found = (await (await fetch(`${baseOf(node.kernel)}/events/recent?kind=signal&since=${since}`)).json()) as { events: Envelope[]; gap?: true };
  expect(found.gap).toBeUndefined();
  return found.events.map(({ id }) => id);
};

const say = (node: Node, summary: string) => node.context.events.publish({ kind: "signal", type: "emitted", summary });
const summaries = (heard: readonly Envelope[]) => heard.filter(({ kind }) => kind === "signal").map(({ summary }) => summary);

describe.skipIf(NO_POSTGRES !== undefined)("events of several daemons on one PostgreSQL schema", () => {
  it("EVT-01 readers of one hear all, who acts on events hears its own, and a reader goes on at the other one", async () => {
    const at = server.schema();
    const [one, two] = [await start(at, "n1"), await start(at, "n2")];
    const [atOne, atTwo] = [await listen(one), await listen(two)];
    const here = say(one, "from one");
    const there = say(two, "from two");
    await until("both on both", () => [atOne, atTwo].every((ids) => ids.includes(here.id) && ids.includes(there.id)));
    await until("both shown", () => [one, two].every(({ shown }) => summaries(shown).length >= 2));
    expect(summaries(one.acted)).toEqual(["from one", "from one"]);
    expect(summaries(two.acted)).toEqual(["from two", "from two"]);
    expect(two.shown.find(({ id }) => id === here.id)).toEqual(here);

    const many = Array.from({ length: 300 }, (_, n) => say(one, `more ${n}`).id);
    await until("all of them", () => atTwo.includes(many.at(-1) as string));
    expect(atTwo.filter((id) => many.includes(id))).toEqual(many);
    // The reader's own daemon is gone: another one goes on behind what it has read.
    await one.kernel.stop({ drainSeconds: 0 });
    expect(await later(two, many[99] as string)).toEqual(many.slice(100));
  });

  it("a daemon that comes later has what was told before in its buffer, and says how much it could not hear", async () => {
    const at = server.schema();
    const one = await start(at, "n1");
    const before = say(one, "before");
    await until("its row", () => server.sql(`SELECT count(*) FROM ${at.schema}.event WHERE value LIKE '%"before"%'`).trim() === "1");
    const two = await start(at, "n2");
    await until("the history", () => two.kernel.bus.recent().events.some(({ id }) => id === before.id));
    expect(summaries(two.shown)).toEqual([]);

    two.proxy.partition(true);
    for (let n = 0; n < 1_200; n += 1) {
      say(one, `unheard ${n}`);
      if (n % 100 === 0) await new Promise(setImmediate);
    }
    await until("what is kept", () => server.sql(`SELECT count(*), max(n) >= 1200 FROM ${at.schema}.event WHERE boot = ${one.store.boot}`).trim() === "1000|t");
    two.proxy.partition(false);
    const gapOf = () => two.events.find(({ data }) => data?.state === "gap");
    await until("the gap", () => gapOf() !== undefined);
    expect(gapOf()).toMatchObject({ kind: "status", data: { gap: true, node: "n1" } });
    await until("the last", () => summaries(two.shown).at(-1) === "unheard 1199");
    expect(summaries(two.shown).length + Number(gapOf()?.data?.missed)).toBeGreaterThanOrEqual(1_200);
  });
});

describe.skipIf(NO_POSTGRES !== undefined)("jobs of several daemons on one PostgreSQL schema", () => {
  it("FAULT-19 a minute is fired by one of them, by the server's clock and not by that of the machine", async () => {
    const at = server.schema();
    // Three days from now, three seconds before a full minute: no clock of this machine shows that.
    const began = performance.now();
    const base = (Math.floor(Date.now() / 60_000) + 3 * 1_440) * 60_000 + 54_000;
    const clock = () => base + performance.now() - began;
    const nodes = [await start(at, "n1", clock), await start(at, "n2", clock), await start(at, "n3", clock)];
    const minute = new Date(base + 6_000).toISOString();
    const fires = () => nodes.flatMap(({ fired }) => fired).filter((fired) => fired === minute);
    await until("the minute", () => fires().length > 0);
    // Each has looked at that minute, and noted it.
    const marks = `SELECT count(*) FROM ${at.schema}.doc WHERE collection = 'core/marks' AND key LIKE 'schedule n%' AND (value::jsonb ->> 'minute')::bigint >= ${Date.parse(minute) / 60_000}`;
    await until("all have looked", () => server.sql(marks).trim() === "3");
    expect(fires()).toEqual([minute]);
  }, 60_000);

  it("FAULT-18 what one missed and another one had its eye on is told by nobody; what all missed is told by one", async () => {
    const at = server.schema();
    let ahead = 0;
    const missedBy = ({ events }: Node) => events.filter(({ data }) => data?.state === "minutes-missed");
    const one = await start(at, "n1", () => Date.now() + ahead);
    await one.kernel.stop({ drainSeconds: 0 });
    // An hour later: nobody was there, and it is told.
    ahead = 3_600_000;
    const first = await start(at, "n1", () => Date.now() + ahead);
    await until("the words", () => missedBy(first).length === 1);
    expect(missedBy(first)[0]?.data).toMatchObject({ jobs: 1 });
    await first.kernel.stop({ drainSeconds: 0 });
    // Another hour later they begin again, and meanwhile another one has looked at every minute.
    ahead = 7_200_000;
    const looked = JSON.stringify({ minute: Math.floor((Date.now() + ahead) / 60_000) });
    server.sql(`INSERT INTO ${at.schema}.doc (collection, key, version, value) VALUES ('core/marks', 'schedule n2', 1, '${looked}')`);
    const second = await start(at, "n1", () => Date.now() + ahead);
    const third = await start(at, "n3", () => Date.now() + ahead);
    // What is told of a start is told before the next job has run.
    for (const node of [second, third]) await new Promise<void>((resolve) => void node.context.jobs.after(1_000, resolve));
    expect([second, third].flatMap(missedBy)).toEqual([]);
  }, 90_000);

  it("FAULT-18 what a killed one had claimed and not ended is told by one of those that live, once it is dead", async () => {
    const at = server.schema();
    const unsureAt = ({ events }: Node) =>
      events.flatMap(({ data }) => ((data?.missed ?? []) as readonly { job: string; unsure?: true }[]).flatMap(({ job, unsure }) => (unsure ? [job] : [])));
    const nodes = [await start(at, "n1"), await start(at, "n2")];
    const begun = (node: string) => {
      const row = { node, job: `job-${node}`, minute: "2026-01-01T12:00", run: `run-${node}` };
      const columns = "(collection, key, version, value) VALUES ('core/begun-minutes'";
      server.sql(`INSERT INTO ${at.schema}.doc ${columns}, '${row.job}', 1, '${JSON.stringify(row)}')`);
      server.sql(`INSERT INTO ${at.schema}.doc_field VALUES ('core/begun-minutes', 'run', 1, 0, '${row.run}', '${row.job}')`);
    };
    // An earlier run of a node that lives again is that node's to tell; nobody else does.
    for (const node of ["n9", "n1"]) begun(node);
    await until("both", () => nodes.flatMap(unsureAt).length === 2, 90_000);
    expect(nodes.flatMap(unsureAt).toSorted()).toEqual(["job-n1", "job-n9"]);
    expect(unsureAt(nodes[0] as Node)).toContain("job-n1");
    expect(server.sql(`SELECT count(*) FROM ${at.schema}.doc WHERE collection = 'core/begun-minutes' AND key LIKE 'job-n%'`).trim()).toBe("0");
  }, 120_000);
});
