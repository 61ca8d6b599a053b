import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { MIGRATIONS, SCHEMA_VERSION } from "../../plugins/stores/postgres/tables.ts";
import { sharedLines } from "../kit/lines.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

// A dozen runs of the program each.
vi.setConfig({ testTimeout: 180_000 });

/** The commands of many lines, in one process. */
const lines = sharedLines();
let server: TestServer;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

describe("svc db status and svc db migrate on SQLite", () => {
  it("tell what is there: nothing, a schema as it is needed, an older one, a newer one", async () => {
    const shell = await openShell();
    const { folder, write } = shell;
    const { svc } = lines(shell);
    write(echoConfig());
    expect((await svc("db", "status")).out).toContain("Nothing is stored there yet");
    expect(JSON.parse((await svc("db", "status", "--json")).out)).toMatchObject({ store: "sqlite", version: null, known: 8, rows: {}, nodes: [] });

    const made = await shell.svc("db", "migrate", "--json");
    expect(JSON.parse(made.out)).toMatchObject({ store: "sqlite", from: 0, to: 8 });
    expect((await svc("db", "migrate")).out).toContain("has schema 8 already");

    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await shell.ask("/task", { agent: "echo", message: "hello" })).toMatchObject({ ok: true });
    const running = JSON.parse((await svc("db", "status", "--json")).out);
    expect(running).toMatchObject({ version: 8, waiting: [], daemon: { pid: expect.any(Number) } });
    expect(running.rows["documents:core/traces"]).toBe(1);
    expect(running.bytes).toBeGreaterThan(0);
    expect(JSON.parse((await svc("node", "list", "--json")).out).nodes).toEqual([expect.objectContaining({ state: "alive", pid: running.daemon.pid })]);
    expect(await svc("node", "drain", "svc")).toMatchObject({ code: 2, err: expect.stringContaining("svc daemon stop") });
    const refused = await svc("db", "migrate");
    expect(refused.code).toBe(75);
    expect(refused.err).toContain("svc daemon stop");
    await shell.svc("daemon", "stop");

    const raw = new Database(join(folder, ".svc/svc.db"));
    raw.pragma("user_version = 7");
    expect((await svc("db", "status")).out).toContain("traces of earlier programs");
    expect((await svc("db", "migrate")).out).toContain("from schema 7 to 8");
    raw.pragma("user_version = 99");
    const newer = await svc("db", "status");
    expect(newer.code).toBe(74);
    expect(newer.out).toContain("newer program");
    expect(await svc("db", "migrate")).toMatchObject({ code: 74, err: expect.stringContaining("newer") });
    expect(raw.pragma("user_version", { simple: true })).toBe(99);
    raw.close();
  });
});

describe.skipIf(NO_POSTGRES !== undefined)("svc db status and svc db migrate on PostgreSQL", () => {
  it("tell the schema, the rows, the daemons and their beats, and how it is reached without the password", async () => {
    const at = server.schema();
    const url = at.url.replace("svc@", "svc:hunter2@");
    const shell = await openShell();
    const { write } = shell;
    const { svc } = lines(shell);
    write(echoConfig({}, { store: { ...at, url } }));
    expect((await svc("db", "status")).out).toContain("svc db migrate");
    const made = await shell.svc("db", "migrate", "--json");
    expect(made.code, made.err).toBe(0);
    expect(JSON.parse(made.out)).toMatchObject({ store: "postgres", from: 0, to: SCHEMA_VERSION });
    expect(server.sql("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%_try_%'")).toBe("0");

    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await shell.ask("/task", { agent: "echo", message: "hello" })).toMatchObject({ ok: true });
    const { out } = await svc("db", "status", "--json");
    expect(out).not.toContain("hunter2");
    const told = JSON.parse(out);
    expect(told).toMatchObject({ store: "postgres", version: SCHEMA_VERSION, waiting: [], settings: { host: "127.0.0.1", user: "svc", schema: at.schema } });
    expect(told.rows.doc).toBeGreaterThan(0);
    expect(told.nodes).toEqual([expect.objectContaining({ state: "alive", pid: told.daemon.pid })]);
    expect(told.nodes[0].beatMs).toBeLessThan(7_000);
    expect((await svc("db", "migrate")).code).toBe(75);
    await shell.svc("daemon", "stop");
    expect(JSON.parse((await svc("db", "status", "--json")).out).nodes[0].state).toBe("dead");
  });

  it("svc node list and svc node drain: who is there, also with nobody running; the daemon of that name ends in order with 0", async () => {
    const at = server.schema();
    const shell = await openShell();
    const { folder, write } = shell;
    const { svc } = lines(shell);
    write(echoConfig({}, { store: at }));
    expect((await svc("node", "list")).out).toContain("No daemon is running");
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    const listed = JSON.parse((await svc("node", "list", "--json")).out);
    expect(listed.nodes).toEqual([expect.objectContaining({ state: "alive", pid: expect.any(Number), boot: expect.any(Number) })]);
    const [{ name, pid }] = listed.nodes;
    expect((await svc("node", "list")).out).toContain(`pid ${pid}`);
    expect(await svc("node", "drain", "somebody-else")).toMatchObject({ code: 1, err: expect.stringContaining("svc node list") });
    expect((await svc("node", "drain", name)).out).toContain(`${name} hears of it`);
    for (const end = Date.now() + 30_000; existsSync(join(folder, ".svc/daemon.lock")); await new Promise((resolve) => setTimeout(resolve, 50)))
      if (Date.now() > end) throw new Error("it did not end");
    expect((await svc("daemon", "status")).code).toBe(69);
    expect((await svc("node", "list")).out).toContain("No daemon is running");
    expect(JSON.parse((await svc("node", "list", "--all", "--json")).out).nodes[0]).toMatchObject({ name, state: "dead" });
    // The wish was that run's alone.
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(JSON.parse((await svc("node", "list", "--json")).out).nodes[0].state).toBe("alive");
    await shell.svc("daemon", "stop");
  });

  it("bring an older schema forward, not while a daemon of another folder uses it, and leave a newer one alone", async () => {
    const at = server.schema();
    const shell = await openShell();
    const { write } = shell;
    const { svc } = lines(shell);
    write(echoConfig({}, { store: at }));
    // As the first version of the program left it.
    const first = (MIGRATIONS[0] as string).replaceAll("{s}", at.schema);
    server.sql(`CREATE SCHEMA ${at.schema}; CREATE TABLE ${at.schema}.version (only_row boolean PRIMARY KEY DEFAULT true, version integer NOT NULL);`);
    server.sql(`INSERT INTO ${at.schema}.version VALUES (true, 1); ${first}`);
    const waiting = Array.from({ length: SCHEMA_VERSION - 1 }, (_, step) => expect.stringMatching(new RegExp(`^${step + 2}: \\w`)));
    expect(JSON.parse((await svc("db", "status", "--json")).out)).toMatchObject({ version: 1, waiting });
    server.sql(`INSERT INTO ${at.schema}.node (folder, name, host, lease_until) VALUES ('elsewhere', 'n9', 'there', now() + interval '1 hour')`);
    const busy = await svc("db", "migrate");
    expect(busy).toMatchObject({ code: 74, err: expect.stringContaining("node n9 on there") });
    server.sql(`UPDATE ${at.schema}.node SET alive = false`);
    expect(JSON.parse((await svc("db", "migrate", "--json")).out)).toMatchObject({ from: 1, to: SCHEMA_VERSION });
    server.sql(`UPDATE ${at.schema}.version SET version = 999`);
    expect(await svc("db", "migrate")).toMatchObject({ code: 74, err: expect.stringContaining("newer") });
    expect((await svc("db", "status")).code).toBe(74);
    expect(server.sql(`SELECT version FROM ${at.schema}.version`)).toBe("999");
    write(echoConfig({}, { store: { ...at, url: "postgres://svc:hunter2@127.0.0.1:1/postgres" } }));
    const gone = await svc("db", "status");
    expect(gone).toMatchObject({ code: 74, err: expect.stringContaining("does not answer") });
    expect(gone.err).not.toContain("hunter2");
  });
});
