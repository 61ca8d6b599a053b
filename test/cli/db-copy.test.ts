import { join } from "node:path";
import { append, push, put } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../plugins/stores/postgres/open.ts";
import { openStore } from "../../plugins/stores/sqlite/open.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

describe.skipIf(NO_POSTGRES !== undefined)("svc db copy", () => {
  it("takes all state from SQLite to PostgreSQL and back: documents, queues in their order, journals, dedup keys", async () => {
    const at = server.schema();
    const { folder, svc, write } = await openShell();
    write(echoConfig());
    expect((await svc("daemon", "start")).code).toBe(0);
    expect((await svc("daemon", "send", "echo", "hello")).code).toBe(0);
    await svc("daemon", "stop");
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
    // Not over what is there.
    expect((await svc("db", "copy", "--from", "sqlite")).err).toContain("another store.schema");
    expect((await svc("db", "check")).out).toContain("is sound");
    expect((await svc("backup")).out).toContain("The state is not in it: the store postgres");

    expect((await svc("daemon", "start")).code).toBe(0);
    expect((await svc("trace", "list")).out).toContain("hello");
    expect((await svc("db", "copy", "--from", "sqlite")).err).toContain("svc daemon stop");
    await svc("daemon", "stop");
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
    expect((await back.svc("trace", "list")).out).toContain("hello");
    await back.svc("daemon", "stop");
  }, 120_000);
});
