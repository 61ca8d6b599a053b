import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { append, put } from "@svc/sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openPostgres, type PostgresStore } from "../../plugins/stores/postgres/open.ts";
import { startCuttingProxy } from "../kit/cutting-proxy.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";

let server: TestServer;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  if (NO_POSTGRES === undefined) server = await startPostgres();
});
afterEach(async () => {
  // A test that has failed may have left it away.
  await server?.up();
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());

type At = ReturnType<TestServer["schema"]>;

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "svc-store-"));
  undo.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function open(at: At, data = folder(), name?: string): Promise<PostgresStore> {
  const store = await openPostgres({ ...at, poolSize: 4, folder: data, ...(name === undefined ? {} : { name }) });
  undo.push(() => store.close());
  return store;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (performance.now() > end) throw new Error(`${what} did not happen`);
}

describe.skipIf(NO_POSTGRES !== undefined)("the store beside a server that fails", { timeout: 120_000 }, () => {
  it("texts that the server does not know are stored as they are: NUL, half characters, long ones; their order stays", async () => {
    const docs = (await open(server.schema())).scope("core").collection<{ at: string }>("odd", { indexes: ["at"] });
    const texts = ["", "\0", "\0\0", "\0a", "\u0001", "\u0001b", "\u0002", "a\0", "a\u0001", "b".repeat(5_000), `${"b".repeat(5_000)}c`, "\u{1F600}", "ü"];
    for (const text of texts) await docs.put(`k${text.slice(0, 20)}${text.length}`, { at: text });
    expect((await docs.list({ by: "at" })).map(({ value }) => value.at).filter((text) => text.length < 100)).toEqual(
      texts.filter((text) => text.length < 100).sort(),
    );
    for (const text of texts) {
      expect((await docs.list({ where: { at: text } })).map(({ value }) => value.at)).toEqual([text]);
      expect((await docs.get(`k${text.slice(0, 20)}${text.length}`))?.value).toEqual({ at: text });
    }
    await docs.put("half", { at: "\ud800" });
    expect((await docs.get("half"))?.value).toEqual({ at: "\ud800" });
    await expect(docs.put("k".repeat(2_000), { at: "" })).rejects.toMatchObject({ code: "SVC_STORE_VALUE", message: expect.stringContaining("1500 bytes") });
  });

  it("FAULT-20 a server that crashes while it is written to stores each acknowledged entry, and none twice", async () => {
    const store = (await open(server.schema())).scope("core");
    const log = store.journal<number>("log");
    const stored: number[] = [];
    let next = 0;
    let writing = true;
    const writers = Array.from({ length: 8 }, async () => {
      while (writing) {
        next += 1;
        const mine = next;
        const acknowledged = await store.commit([append("log", mine), put("last", String(mine), mine, "absent")]).then(
          () => true,
          () => false,
        );
        if (acknowledged) stored.push(mine);
      }
    });
    for (let crash = 1; crash <= 2; crash += 1) {
      const before = stored.length;
      await until("more writes", () => stored.length > before + 50);
      await server.crash();
    }
    writing = false;
    await Promise.all(writers);
    const there: number[] = [];
    for (let after = 0; ; ) {
      const page = await log.read(after, 1_000);
      there.push(...page.map(({ value }) => value));
      if (page.length === 0) break;
      after = page.at(-1)?.seq ?? after;
    }
    expect(new Set(there).size).toBe(there.length);
    expect(stored.filter((one) => !there.includes(one))).toEqual([]);
    expect(stored.length).toBeGreaterThan(100);
  });

  it("a reply that is lost on its way is asked for again: the write is there once, and its answer is that of the first time", async () => {
    const at = server.schema();
    const proxy = await startCuttingProxy(() => server.port);
    undo.push(() => proxy.close());
    const store = (await open({ ...at, url: at.url.replace(`127.0.0.1:${server.port}`, new URL(proxy.url).host) })).scope("core");
    const log = store.journal<number>("log");
    const numbers: number[] = [await log.append(1)];
    proxy.cutWithin(2_000);
    for (let value = 2; value <= 80; value += 1) numbers.push(await log.append(value));
    proxy.cutWithin(0);
    expect(proxy.cuts).toBeGreaterThan(5);
    expect(numbers).toEqual(Array.from({ length: 80 }, (_, index) => index + 1));
    expect((await log.read(0, 1_000)).map(({ value }) => value)).toEqual(numbers);
  });

  it("a server that is away while nothing is written: health says so after some seconds, and no more once it is back", async () => {
    const store = await open(server.schema());
    await server.down();
    await until("the silence", () => !store.health().ok);
    expect(store.health()).toMatchObject({ reason: expect.stringMatching(/does not answer .*not heard of/) });
    await server.up();
    await until("its health", () => store.health().ok);
  });

  it("while the server is away callers are told after some seconds, health says so, and it goes on by itself", async () => {
    const store = await open(server.schema());
    const docs = store.scope("core").collection("docs");
    await docs.put("a", 1);
    await server.down();
    // Until the pool has dropped its broken connections: a write sent over one of them may be stored, and waits for the server's answer instead.
    await until("the silence", () => !store.health().ok);
    await expect(docs.put("b", 2)).rejects.toMatchObject({ code: "SVC_STORE_UNREACHABLE", status: 503 });
    expect(store.health()).toMatchObject({ ok: false, reason: expect.stringContaining("does not answer") });
    await expect(docs.get("a")).rejects.toMatchObject({ code: "SVC_STORE_UNREACHABLE" });
    // Stored where the server is back within some seconds, which a busy machine does not promise.
    const waiting = docs.put("c", 3).catch(() => undefined);
    await server.up();
    await waiting;
    await until("a write", () =>
      docs.put("c", 3).then(
        () => true,
        () => false,
      ),
    );
    await until("its health", () => store.health().ok);
    expect((await docs.get("c"))?.value).toBe(3);
  });

  it("an index that is declared while the server is away is there once it is back", async () => {
    const core = (await open(server.schema())).scope("core");
    await core.collection<{ at: number }>("docs").put("a", { at: 1 });
    await server.down();
    const docs = core.collection<{ at: number }>("docs", { indexes: ["at"] });
    await expect(docs.list({ where: { at: 1 } })).rejects.toMatchObject({ code: "SVC_STORE_UNREACHABLE" });
    await server.up();
    await until("the list", () =>
      docs.list({ where: { at: 1 } }).then(
        (found) => found.length === 1,
        () => false,
      ),
    );
  });

  it("of two daemons of one name that begin at once on one schema one serves; one of another name is let in beside it", async () => {
    const at = server.schema();
    const outcomes = await Promise.allSettled([open(at, folder(), "n1"), open(at, folder(), "n1")]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(outcomes.find((one) => one.status === "rejected")).toMatchObject({
      reason: { code: "SVC_STORE_BUSY", message: expect.stringContaining("node n1") },
    });
    expect((await open(at, folder(), "n2")).health().ok).toBe(true);
  });

  it("one write that the server refuses leaves the others of its transaction alone", async () => {
    const store = (await open(server.schema())).scope("core");
    const docs = store.collection<unknown>("docs", { indexes: ["at"] });
    // A delay that no column of the server holds.
    const outcomes = await Promise.allSettled([docs.put("a", 1), store.queue("work").push(1, { id: "late", delayMs: 1e300 }), docs.put("b", 2)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((await docs.list()).map(({ key }) => key)).toEqual(["a", "b"]);
    expect(await store.queue("work").size()).toBe(0);
  });

  it("a killed daemon's folder goes on at once; what it had claimed is due again", async () => {
    const at = server.schema();
    const data = folder();
    const killed = await openPostgres({ ...at, poolSize: 4, folder: data });
    const work = killed.scope("core").queue<number>("work");
    await killed.reclaim("n1");
    await work.push(1, { id: "a" });
    expect(await work.claim(1, 3_600_000)).toHaveLength(1);
    // Its process is gone: nothing of it beats or writes any more, and the lock of its folder is free.
    const next = await open(at, data);
    await next.reclaim("n1");
    expect(await next.scope("core").queue<number>("work").claim(1, 1_000)).toEqual([{ id: "a", value: 1, attempt: 2, redelivered: true }]);
    await expect(killed.scope("core").collection("docs").put("late", 1)).rejects.toMatchObject({ code: "SVC_STORE_FENCED" });
    await killed.close();
    expect(await next.scope("core").collection("docs").get("late")).toBeUndefined();
  });

  it("a daemon of another folder serves as soon as the one of its name has ended", async () => {
    const at = server.schema();
    const first = await open(at, folder(), "n1");
    const second = open(at, folder(), "n1");
    await first.close();
    expect((await second).health().ok).toBe(true);
  });

  it("an address that is none, a password that is wrong and a database that is not there are told in words, without the password", async () => {
    const failure = async (url: string) =>
      await openPostgres({ url, schema: "svc", poolSize: 2, folder: folder() }).then(String, (error: Error) => error.message);
    expect(await failure("somewhere")).toContain("postgres://");
    expect(await failure(`postgres://svc:hunter2@127.0.0.1:${server.port}/nowhere`)).toMatch(/nowhere.*check store\.url/);
    expect(await failure(`postgres://nobody:hunter2@127.0.0.1:${server.port}/postgres`)).not.toContain("hunter2");
    expect(await failure("postgres://svc:hunter2@127.0.0.1:1/postgres")).toMatch(/does not answer/);
  });

  it("a schema of a newer program is left alone", async () => {
    const at = server.schema();
    await (await open(at)).close();
    server.sql(`UPDATE ${at.schema}.version SET version = 999`);
    await expect(open(at)).rejects.toMatchObject({ code: "SVC_STORE_NEWER" });
    expect(server.sql(`SELECT version FROM ${at.schema}.version`)).toBe("999");
  });

  it("without a data folder the state has a schema of its own, which is gone with the close", async () => {
    const at = server.schema();
    const store = await openPostgres({ ...at, poolSize: 2, folder: undefined });
    await store.scope("core").collection("docs").put("a", 1);
    expect(server.sql(`SELECT count(*) FROM pg_namespace WHERE nspname LIKE '${at.schema}%'`)).toBe("1");
    await store.close();
    expect(server.sql(`SELECT count(*) FROM pg_namespace WHERE nspname LIKE '${at.schema}%'`)).toBe("0");
  });
});
