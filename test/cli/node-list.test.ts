import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

vi.setConfig({ testTimeout: 120_000 });

/** The commands of many lines, in one process. */
const lines = sharedLines();

describe.skipIf(NO_POSTGRES !== undefined)("svc node list with two daemons", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  it("tells version, address, what is not well on each, and in which settings they differ, but no credential", async () => {
    const store = server.schema();
    const shell = async (id: string, more: object, url?: string) => {
      const opened = await openShell();
      const { node, ...rest } = echoConfig(id === "n2" ? { model: "${MODEL_OF_N2}" } : {}, { store, ...more }) as { node: object };
      opened.write({ ...rest, node: { ...node, id, ...(url === undefined ? {} : { url }) } });
      expect((await opened.svc("daemon", "start")).code).toBe(0);
      return opened;
    };
    const crons = (fireToken: string) => ({ c: { schedule: "0 3 1 1 *", agent: "echo", prompt: "hello", fireToken } });
    const one = await shell("n1", { retention: { traceDays: 9 }, crons: crons("a-secret-of-n1-only") }, "https://n1.example/svc");
    const two = await shell("n2", { retention: { traceDays: 8 }, crons: crons("a-secret-of-n2-only") });
    const told = async () => (await lines(one).json<{ nodes: object[] }>("node", "list")).nodes as { name: string; about?: { bind: string } }[];
    await expect
      .poll(async () => (await told()).map(({ name, about }) => [name, about !== undefined]), { timeout: 20_000 })
      .toEqual([
        ["n2", true],
        ["n1", true],
      ]);
    const nodes = await told();
    expect(nodes[1]).toMatchObject({ running: 0, holds: expect.any(Array), about: { url: "https://n1.example/svc", troubles: [] } });
    expect(nodes[0]).toMatchObject({ about: { bind: expect.stringMatching(/^127\.0\.0\.1:\d+$/), troubles: [expect.stringContaining("MODEL_OF_N2")] } });
    expect(JSON.stringify(nodes)).not.toContain("only");
    expect(server.sql(`SELECT string_agg(about::text, ' ') FROM ${store.schema}.node`)).not.toContain("only");

    const { out } = await two.svc("node", "list");
    expect(out).toMatch(/^NAME +BOOT +WHERE +VERSION +STATE +RUNNING +LAST BEAT/);
    expect(out).toMatch(/^n2: .*MODEL_OF_N2/m);
    expect(out).toContain("The setting agents.echo differs: n2 | n1");
    expect(out).toContain("The setting retention.traceDays differs: n2 | n1");
    expect(out).not.toContain("crons");

    // What is mended is told with a beat.
    const { node, ...rest } = echoConfig({}, { store }) as { node: object };
    for (const [shell, id] of [
      [one, "n1"],
      [two, "n2"],
    ] as const) {
      shell.write({ ...rest, node: { ...node, id } });
      expect((await lines(shell).svc("daemon", "reload")).code).toBe(0);
    }
    await expect.poll(async () => (await lines(one).svc("node", "list")).out, { timeout: 20_000 }).not.toMatch(/differs|MODEL_OF_N2/);
    await one.end();
    await two.end();
  });
});
