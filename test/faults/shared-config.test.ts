import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { startDaemon } from "./daemon.harness.ts";

vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 30_000, interval: 200 };
const lines = sharedLines();

/** A configuration that can be changed and written. */
interface Written {
  agents: Record<string, Record<string, unknown>>;
  [section: string]: unknown;
}

describe.skipIf(NO_POSTGRES !== undefined)("SCALE-OUT svc.json as one document of several daemons", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  /** A daemon of its own folder on the schema. */
  async function daemon(id: string, store: object | undefined, more: object = {}) {
    const shell = await openShell();
    const { node, ...rest } = echoConfig(
      {},
      { ...(store === undefined ? {} : { store }), sharedConfig: { enabled: true, local: ["agents.echo.workspace"] }, ...more },
    ) as { node: object };
    shell.write({ node: { ...node, id }, ...rest });
    await startDaemon(shell.folder);
    const read = () => JSON.parse(readFileSync(join(shell.folder, "svc.json"), "utf8")) as Written;
    const problems = async () => (await shell.ask<{ problems: string[] }>("/health")).problems.join("\n");
    return { ...shell, ...lines(shell), read, problems };
  }

  it("what one reads anew is the others' too: written into their files, in force, and what is local stays", async () => {
    const store = server.schema();
    const one = await daemon("n1", store);
    const two = await daemon("n2", store, { agents: { echo: { name: "Echo", workspace: "./elsewhere", tier: "local", local: { mode: "echo" } } } });
    expect((await one.svc("config", "set", "agents.second", '{"name":"Second","workspace":"./w","tier":"local","local":{"mode":"echo"}}')).code).toBe(0);
    await expect.poll(() => two.read().agents.second, PATIENCE).toMatchObject({ name: "Second" });
    const second = async (shell: Shell) => shell.ask<{ reply: string }>("/task", { agent: "second", message: "hello" }).then(({ reply }) => reply, String);
    await expect.poll(() => second(two), PATIENCE).toBe("hello");
    expect(two.read()).toMatchObject({ node: { id: "n2" }, agents: { echo: { workspace: "./elsewhere" } } });

    // The other way round; a reference is stored as it is written.
    expect((await two.svc("config", "set", "agents.second.model", "${HOME}")).code).toBe(0);
    await expect.poll(() => one.read().agents.second?.model, PATIENCE).toBe("${HOME}");
    expect((await two.svc("config", "unset", "agents.second")).code).toBe(0);
    await expect.poll(() => one.read().agents, PATIENCE).not.toHaveProperty("second");
    await expect.poll(() => second(one), PATIENCE).toMatch(/^Error: .*second/);

    // Edited by hand: nobody else's until it is read.
    const edited = one.read();
    edited.retention = { traceDays: 12 };
    one.write(edited);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(two.read()).not.toHaveProperty("retention");
    expect((await one.svc("daemon", "reload")).out).toContain("In force now.");
    await expect.poll(() => two.read().retention, PATIENCE).toEqual({ traceDays: 12 });
    // One that was stopped takes what it missed, once it is back.
    await two.end();
    expect((await one.svc("config", "set", "retention.traceDays", "13")).code).toBe(0);
    await startDaemon(two.folder);
    await expect.poll(() => two.read().retention, PATIENCE).toEqual({ traceDays: 13 });
    expect(await two.problems()).toBe("");
    for (const shell of [one, two]) await shell.end();
  });

  it("a daemon that cannot take a version stays with its own, says so where operators look, and goes on once it can", async () => {
    const store = server.schema();
    // n2 alone has the agent's workspace to itself: without it, the agent is refused there.
    const sharedConfig = { enabled: true, local: ["agents.echo.workspace", "agents.far.workspace"] };
    const [one, two] = [await daemon("n1", store, { sharedConfig }), await daemon("n2", store, { sharedConfig })];
    expect((await one.svc("config", "set", "agents.far", '{"name":"Far","workspace":"./w","tier":"local","local":{"mode":"echo"}}')).code).toBe(0);
    await expect.poll(two.problems, PATIENCE).toMatch(/feature-shared-config: .*which node n1 has written, is refused here: .*agents\.far\.workspace/);
    expect(two.read().agents).not.toHaveProperty("far");
    expect((await two.svc("daemon", "status")).out).toMatch(/problem: feature-shared-config: .*is refused here/);
    expect((await two.svc("daemon", "send", "echo", "still here")).out).toContain("still here");
    await expect.poll(async () => JSON.stringify(await one.ask("/nodes")), PATIENCE).toContain("refused here");
    const list = (await one.svc("node", "list")).out;
    expect(list).toMatch(/n2: feature-shared-config: .*refused here/);
    expect(list).toContain("The setting agents.far differs: n2 (not set) | n1");
    // The same agent on n2, with a workspace of its own: both are the same again, and nothing is set aside.
    expect((await two.svc("config", "set", "agents.far", '{"name":"Far","workspace":"./there","tier":"local","local":{"mode":"echo"}}')).code).toBe(0);
    await expect.poll(two.problems, PATIENCE).toBe("");
    expect([one.read().agents.far?.workspace, two.read().agents.far?.workspace]).toEqual(["./w", "./there"]);
    for (const shell of [one, two]) await shell.end();
  });

  it("SEC a credential that is written out reaches neither the database nor another daemon; nothing is shared until it is moved", async () => {
    const store = server.schema();
    const crons = (fireToken: string) => ({ c: { schedule: "0 3 1 1 *", agent: "echo", prompt: "hello", fireToken } });
    const one = await daemon("n1", store, { crons: crons("a-credential-of-n1-alone") });
    const two = await daemon("n2", store);
    await expect.poll(one.problems, PATIENCE).toContain("crons.c.fireToken");
    const stored = () => server.sql(`SELECT value::jsonb ->> 'by' FROM ${store.schema}.doc WHERE collection LIKE '%shared-config%' AND key = 'svc.json'`);
    await expect.poll(stored, PATIENCE).toBe("n2");
    expect(server.sql(`SELECT count(*) FROM ${store.schema}.doc WHERE value LIKE '%a-credential-of-n1-alone%'`)).toBe("0");
    expect(two.read()).not.toHaveProperty("crons");
    const mended = one.read();
    mended.crons = crons("${FIRE_TOKEN}");
    one.write(mended);
    await one.svc("daemon", "reload");
    // n2 was alone until then: its settings are the older ones, and the other text is kept.
    await expect.poll(() => one.read().crons, PATIENCE).toBeUndefined();
    const conflicts = join(one.folder, ".svc/plugins/feature-shared-config/conflicts");
    expect(existsSync(conflicts)).toBe(true);
    const [aside] = readdirSync(conflicts);
    expect(readFileSync(join(conflicts, aside as string), "utf8")).toContain("${FIRE_TOKEN}");
    expect(readdirSync(conflicts)).toHaveLength(1);
    for (const shell of [one, two]) await shell.end();
  });

  it.skipIf(ON_SERVER !== undefined)(
    `on a store that one daemon uses alone it says that it has no effect${ON_SERVER === undefined ? "" : `: ${ON_SERVER}`}`,
    async () => {
      const one = await daemon("n1", undefined);
      await expect.poll(one.problems, PATIENCE).toContain("sharedConfig has no effect");
      await one.end();
    },
  );
});
