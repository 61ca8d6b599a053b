import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { append, push, put } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { openStore } from "../../plugins/stores/sqlite/open.ts";
import { ask, type DaemonProcess, endDaemons, startDaemon } from "../faults/daemon.harness.ts";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(() => endDaemons());
afterAll(() => server?.stop());

describe.skipIf(NO_POSTGRES !== undefined)("svc db copy", () => {
  it("takes all state from SQLite to PostgreSQL and back: documents, queues in their order, journals, dedup keys", async () => {
    const at = server.schema();
    const shell = await openShell();
    const { folder, svc, write } = shell;
    write(echoConfig());
    expect((await svc("daemon", "start")).code).toBe(0);
    expect(await shell.ask("/task", { agent: "echo", message: "hello" })).toMatchObject({ ok: true });
    await shell.end();
    const sqlite = openStore({ file: join(folder, ".svc/svc.db") });
    const own = sqlite.scope("feature-x");
    own.collection("odd", { indexes: ["at", "in.side"] });
    await own.commit([
      put("odd", "\0key", { at: "\0", in: { side: "x" } }),
      put("odd", "\0key", { at: "\ud800", in: { side: "y" } }),
      push("work", "one", { n: 1 }, { group: "g" }),
      push("work", "two", { n: 2 }, { group: "g", delayMs: 3_600_000 }),
      push("work", "three", { n: 3 }, { dedupKey: "seen before" }),
      append("log", "first"),
      append("log", "second"),
    ]);
    await own.queue("work").claim(1, 3_600_000);
    await own.journal("log").trim(1);
    await sqlite.close();

    write(echoConfig({}, { store: at }));
    const there = await svc("db", "copy", "--from", "sqlite", "--json");
    expect(there.code, there.err).toBe(0);
    expect(JSON.parse(there.out)).toMatchObject({ from: "sqlite", to: "postgres", records: expect.any(Number) });
    // Once more: it is there already, and the same.
    const repeated = await lines(shell).svc("db", "copy", "--from", "sqlite", "--json");
    expect([repeated.code, JSON.parse(repeated.out).hash]).toEqual([0, JSON.parse(there.out).hash]);
    expect((await lines(shell).svc("db", "check")).out).toContain("is sound");
    expect((await lines(shell).svc("backup")).out).toContain("The state is not in it: the store postgres");

    expect((await svc("daemon", "start")).code).toBe(0);
    expect(JSON.stringify(await shell.ask("/traces"))).toContain("hello");
    expect((await lines(shell).svc("db", "copy", "--from", "sqlite")).err).toContain("svc daemon stop");
    await shell.end();
    // Not over what was written since.
    expect((await lines(shell).svc("db", "copy", "--from", "sqlite")).err).toContain("another store.schema");
    const postgres = await openPostgres({ ...at, poolSize: 2, folder: join(folder, ".svc") });
    const other = postgres.scope("feature-x");
    const docs = other.collection<{ at: string }>("odd", { indexes: ["at", "in.side"] });
    expect(await docs.get("\0key")).toEqual({ key: "\0key", value: { at: "\ud800", in: { side: "y" } }, version: 2 });
    expect((await other.scan("odd", { where: { "in.side": "y" }, limit: 5 })).docs).toHaveLength(1);
    expect((await docs.list({ where: { at: "\ud800" } })).map(({ key }) => key)).toEqual(["\0key"]);
    const work = other.queue<{ n: number }>("work");
    expect((await work.list()).map(({ id, attempt, group }) => [id, attempt, group])).toEqual([
      ["one", 1, "g"],
      ["two", 0, "g"],
      ["three", 0, undefined],
    ]);
    expect(await work.push({ n: 4 }, { dedupKey: "seen before" })).toBeUndefined();
    expect((await work.claim(9, 1_000)).map(({ id, redelivered }) => [id, redelivered])).toEqual([
      ["one", true],
      ["three", false],
    ]);
    expect(await other.journal("log").append("third")).toBe(3);
    await postgres.close();

    // And back, into a folder without state.
    const back = await openShell();
    back.write(echoConfig());
    const returned = await back.svc("db", "copy", "--from", join(folder, "svc.json"), "--json");
    expect(returned.code, returned.err).toBe(0);
    const again = openStore({ file: join(back.folder, ".svc/svc.db") });
    expect((await again.scope("feature-x").journal("log").read(0)).map(({ seq, value }) => [seq, value])).toEqual([
      [2, "second"],
      [3, "third"],
    ]);
    expect((await again.scope("feature-x").collection("odd").get("\0key"))?.version).toBe(2);
    await again.close();
    expect((await back.svc("daemon", "start")).code).toBe(0);
    expect(JSON.stringify(await back.ask("/traces"))).toContain("hello");
    await back.end();
  }, 120_000);

  it("a daemon of another name goes on with what was copied: a turn that ran, one that waits, their session, an answer that was not sent", async () => {
    const { folder, svc, write } = await openShell({ SVC_TEST_LEDGER: "" });
    const ledger = join(folder, "ledger");
    const lines = (kind: string) =>
      readFileSync(ledger, "utf8")
        .split("\n")
        .filter((line) => line.includes(kind))
        .map((line) => JSON.parse(line) as { readonly run: string; readonly session: string | null; readonly sent: string });
    for (const name of ["hold", "closed", "ledger"]) writeFileSync(join(folder, name), "");
    const config = (id: string, rest: object = {}) => ({
      node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "keeper" },
      agents: { keeper: { name: "Keeper", workspace: "./w", tier: "keeper", queueMode: "followup" } },
      plugins: ["keeper.mjs", "letterbox.mjs"].map((name) => join(import.meta.dirname, name)),
      ...rest,
    });
    const start = (at: string) => startDaemon(at, { env: { SVC_TEST_LEDGER: ledger } });
    const post = async (to: DaemonProcess, text: string) => expect((await ask(to.port, "/letterbox", { text })).status).toBe(200);
    const runs = (...expected: readonly (readonly [text: string, session: unknown])[]) =>
      expect.poll(() => lines('"run"').map(({ run, session }) => [run, session])).toEqual(expected);

    write(config("old"));
    const old = await start(folder);
    await post(old, "first");
    await runs(["first", null]);
    await expect.poll(async () => JSON.stringify((await ask(old.port, "/traces")).body)).toContain("did first");
    await post(old, "hold on");
    await post(old, "third");
    const session = expect.stringMatching(/^native of task_/);
    await runs(["first", null], ["hold on", session]);
    const store = server.schema();
    write(config("new", { store }));
    expect((await svc("db", "copy", "--from", "sqlite")).err).toContain("svc daemon stop");
    await old.kill();

    const copied = await svc("db", "copy", "--from", "sqlite");
    expect(copied.code, copied.err).toBe(0);
    for (const name of ["hold", "closed"]) rmSync(join(folder, name));
    const next = await start(folder);
    await runs(["first", null], ["hold on", session], ["hold on", session], ["third", session]);
    const sent = ["did first", "did hold on", "did third"];
    await expect.poll(() => lines('"sent"').map((line) => line.sent)).toEqual(sent);
    // From the machine of another daemon nothing is copied while this one lives.
    const back = await openShell();
    back.write(config("back"));
    writeFileSync(join(back.folder, "theirs.json"), JSON.stringify(config("theirs", { store })));
    const refused = await back.svc("db", "copy", "--from", join(back.folder, "theirs.json"));
    expect([refused.code, refused.err]).toEqual([expect.any(Number), expect.stringContaining("the daemon new on")]);
    expect(refused.code).not.toBe(0);
    await next.kill("SIGTERM");

    const returned = await back.svc("db", "copy", "--from", join(back.folder, "theirs.json"));
    expect(returned.code, returned.err).toBe(0);
    const last = await start(back.folder);
    await post(last, "fourth");
    await expect.poll(() => lines('"sent"').map((line) => line.sent)).toEqual([...sent, "did fourth"]);
    const sessions = lines('"run"').map((line) => line.session);
    expect(new Set(sessions.slice(1)).size).toBe(1);
    await last.kill("SIGTERM");
  }, 180_000);

  it("a copy that is killed leaves nothing behind, either way, and the next one is whole", async () => {
    const { folder, svc, write } = await openShell();
    const sqlite = openStore({ file: join(folder, ".svc/svc.db") });
    const some = (text: string) => Array.from({ length: 2_000 }, (_, n) => append("log", { n, text }));
    // Those that are still to come when it is killed take longer than the others.
    const [short, long] = [some("x"), some("x".repeat(200))];
    for (let at = 0; at < 60_000; at += 2_000) await sqlite.scope("feature-x").commit(at < 50_000 ? short : long);
    await sqlite.close();
    const at = server.schema();
    write(echoConfig({}, { store: at }));
    await killed(folder, "sqlite");
    expect(server.sql(`SELECT count(*) FROM ${at.schema}.entry`)).toBe("0");
    const whole = JSON.parse((await svc("db", "copy", "--from", "sqlite", "--json")).out) as { readonly records: number; readonly hash: string };
    expect(whole.records).toBeGreaterThan(60_000);

    const back = await openShell();
    back.write(echoConfig());
    const from = join(folder, "svc.json");
    await killed(back.folder, from);
    const left = openStore({ file: join(back.folder, ".svc/svc.db") });
    for await (const record of left.records()) expect(record.kind).toBe("collection");
    await left.close();
    expect(JSON.parse((await back.svc("db", "copy", "--from", from, "--json")).out)).toMatchObject({ records: whole.records, hash: whole.hash });
  }, 240_000);
});

/** Copies into the store of that folder and is killed when it has read most of it. */
async function killed(folder: string, from: string): Promise<void> {
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "db", "copy", "--from", from], {
    cwd: folder,
    env: { ...process.env, SVC_CONFIG: "" },
  });
  const ended = once(child, "exit");
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
    if (said.includes("50000 records")) child.kill("SIGKILL");
  });
  expect((await ended)[1], said).toBe("SIGKILL");
}
