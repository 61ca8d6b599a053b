import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { read } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { pageSample } from "../kit/page-sample.ts";
import { NO_POSTGRES, serverProgram } from "../kit/postgres.ts";
import { openShell } from "../kit/svc.ts";
import { endProxies, NGINX } from "../kit/web-proxy.ts";
import { type Machine, openStage, PAGE, PATIENCE, type Stage } from "./distributed.harness.ts";

const missing = NO_POSTGRES ?? (NGINX === undefined ? "nginx is not installed" : undefined);
if (missing !== undefined) console.warn(`skipped, the machines of ${PAGE}: ${missing}`);
/** A command of the page's table, as a reader types it; throws where the page does not have it. */
const command = (text: string): string[] => {
  if (!read(PAGE).includes(`\`${text}\``)) throw new Error(`${PAGE} does not name \`${text}\``);
  return text.replace(" [--all]", "").replace("<node.id>", "n2").split(" ").slice(1);
};

let stage: Stage;
let n1: Machine;
let n2: Machine;
const byName = (nodes: unknown) => Object.fromEntries((nodes as { name: string; state: string }[]).toReversed().map(({ name, state }) => [name, state]));
const lines = sharedLines();
const said = async (at: Machine, text: string, ...more: string[]) => {
  const { code, out, err } = await lines(at.shell, at.env).svc(...command(text), ...more);
  return { code, out, text: `${out}${err}` };
};
/** What the command says; a wait for it asks the daemon, which needs no program of its own. */
const states = async (at: Machine) => byName(JSON.parse((await said(at, "svc node list [--all]", "--all", "--json")).out).nodes);
const asked = async (at: Machine) => byName((await at.get("/nodes")).body.nodes);
const channels = async (at: Machine) => JSON.stringify((await at.get("/channels")).body);

describe.skipIf(missing !== undefined)(`the two machines of ${PAGE} behind its proxy`, { timeout: 180_000 }, () => {
  beforeAll(async () => {
    if (missing !== undefined) return;
    stage = await openStage();
    [n1, n2] = [await stage.machine("n1"), await stage.machine("n2")];
    await n1.on();
    await n2.on();
    await stage.proxy();
  });
  afterAll(async () => {
    await endProxies();
    await stage?.close();
  });

  it("a message through the proxy is answered, and each command that looks after them says what the page says", async () => {
    expect(await stage.ask("hello")).toMatchObject({ status: 200, body: { reply: expect.stringMatching(/^n[12] did hello$/) } });
    const list = await said(n1, "svc node list [--all]");
    expect(list.text).toMatch(/n1 .*alive/);
    expect(list.text).toMatch(/n2 .*alive/);
    const lists = [await said(n1, "svc channel list"), await said(n2, "svc channel list")];
    expect(lists.map(({ text }) => text).join("\n")).toMatch(/standby, node n1 has it/);
    const status = (await said(n1, "svc db status")).text;
    for (const word of [/Schema \d+, as this program needs it/, /Rows:/, /MiB/, /connections/, /Daemons:/]) expect(status).toMatch(word);
    expect(await said(n2, "svc doctor")).toMatchObject({ code: 0, text: expect.stringContaining("(schema svc) is sound") });
    for (const machine of [n1, n2]) for (const path of ["/health", "/ready"]) expect([path, (await machine.get(path)).status]).toEqual([path, 200]);
  });

  it("a daemon that is killed: the proxy goes on with the other one, which has its channel; it is in the list of all alone", async () => {
    await n1.signal("SIGKILL", "off");
    for (let asked = 0; asked < 6; asked += 1) expect((await stage.ask(`without n1 ${asked}`)).status).toBe(200);
    await vi.waitFor(async () => expect(await asked(n2)).toMatchObject({ n1: "dead", n2: "alive" }), PATIENCE);
    expect(await states(n2)).toMatchObject({ n1: "dead", n2: "alive" });
    expect((await said(n2, "svc node list [--all]")).text).not.toContain("n1");
    await vi.waitFor(async () => expect(await channels(n2)).not.toContain("standby"), PATIENCE);
    expect((await said(n2, "svc channel list")).text).not.toContain("standby");
    await n1.on();
    await vi.waitFor(async () => expect(await channels(n1)).toContain("standby, node n2 has it"), PATIENCE);
    expect((await said(n1, "svc channel list")).text).toContain("standby, node n2 has it");
  });

  it("a daemon that is drained finishes what runs, ends with 0 and is not started again; the other one takes its requests", async () => {
    stage.hold();
    const running = Promise.all(Array.from({ length: 4 }, (_, at) => stage.ask(`hold ${at}`, `drain-${at}`)));
    await vi.waitFor(async () => expect((await n1.get("/health")).body).toMatchObject({ tasks: { running: expect.any(Number) } }), PATIENCE);
    expect((await said(n1, "svc node drain <node.id>")).code).toBe(0);
    stage.goOn();
    await vi.waitFor(() => expect(n2.ends).toEqual([0]), PATIENCE);
    const first = await running;
    for (const [at, { status }] of first.entries())
      if (status !== 200) await vi.waitFor(async () => expect((await stage.ask(`hold ${at}`, `drain-${at}`)).status).toBe(200), PATIENCE);
    for (let asked = 0; asked < 4; asked += 1) expect((await stage.ask(`without n2 ${asked}`)).body.reply).toBe(`n1 did without n2 ${asked}`);
    expect(await states(n1)).toMatchObject({ n1: "alive", n2: "dead" });
    // Longer than its supervisor waits before it starts one again.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(n2.ends).toEqual([0]);
    await expect(n2.get("/health")).rejects.toThrow();
    await n2.on();
  });

  it("a daemon that the database did not hear of for a lease ends with 74 and is started again by the unit", async () => {
    const before = n2.ends.length;
    await n2.signal("SIGSTOP");
    await vi.waitFor(async () => expect(await asked(n1)).toMatchObject({ n2: "dead" }), PATIENCE);
    await n2.signal("SIGCONT");
    await vi.waitFor(() => expect(n2.ends.slice(before)).toEqual([74]), PATIENCE);
    await vi.waitFor(async () => expect((await n2.get("/ready")).status).toBe(200), PATIENCE);
    expect(await states(n1)).toMatchObject({ n1: "alive", n2: "alive" });
  });

  it("the database does not answer: doctor, /health and /ready say so, callers get 503, and both go on by themselves", async () => {
    await stage.server.down();
    try {
      for (const machine of [n1, n2]) {
        await vi.waitFor(async () => expect(await machine.get("/ready")).toMatchObject({ status: 503 }), PATIENCE);
        expect(JSON.stringify((await machine.get("/ready")).body)).toContain("does not answer");
        expect(JSON.stringify((await machine.get("/health")).body)).toContain("does not answer");
      }
      expect((await stage.ask("now")).status).toBe(503);
      expect(await said(n1, "svc doctor")).toMatchObject({ code: 1, text: expect.stringContaining("does not answer") });
    } finally {
      await stage.server.up();
    }
    for (const machine of [n1, n2]) await vi.waitFor(async () => expect((await machine.get("/ready")).status).toBe(200), PATIENCE);
    expect((await stage.ask("again")).status).toBe(200);
  });

  it("the schema that pg_dump has and the folder that svc backup has are the state and the rest: both restored, the daemon knows its traces", async () => {
    expect((await stage.ask("before the backup")).status).toBe(200);
    const database = ["-d", stage.url];
    const dump = execFileSync(serverProgram("pg_dump"), [...database, "--schema", "svc"], { encoding: "utf8", maxBuffer: 1e9 });
    const to = join(await temporaryFolder(), "copy");
    const taken = await lines(n1.shell, n1.env).svc("backup", to);
    expect(taken.code, taken.err).toBe(0);
    expect(taken.out).toContain("The state is not in it");
    await n1.signal("SIGTERM", "off");
    await n2.signal("SIGTERM", "off");
    execFileSync(serverProgram("psql"), [...database, "-q", "-c", "DROP SCHEMA svc CASCADE"], { stdio: "pipe" });
    execFileSync(serverProgram("psql"), [...database, "-q", "-v", "ON_ERROR_STOP=1"], { input: dump, stdio: "pipe" });
    const other = await openShell(n1.env);
    const restored = await lines(other, n1.env).svc("restore", to);
    expect(restored.code, restored.err).toBe(0);
    expect((await other.svc("daemon", "start")).code).toBe(0);
    try {
      expect((await lines(other, n1.env).svc("trace", "list", "--json")).out).toContain("before the backup");
    } finally {
      await other.end();
    }
  });
});

describe.skipIf(missing !== undefined)("one that works and one that stands by", { timeout: 120_000 }, () => {
  it("with the same node.id the second is refused with 74 again and again, until the first has ended, in order or not", async () => {
    const own = await openStage();
    try {
      const [one, two] = [await own.machine("n1", "same"), await own.machine("n2", "same")];
      await one.on();
      two.supervise();
      await vi.waitFor(() => expect(two.ends.length).toBeGreaterThan(1), PATIENCE);
      expect(new Set(two.ends)).toEqual(new Set([74]));
      expect(two.said()).toContain("same");
      await one.signal("SIGTERM", "off");
      await vi.waitFor(async () => expect((await two.get("/ready")).status).toBe(200), PATIENCE);
      one.supervise();
      const refused = one.ends.length;
      await vi.waitFor(() => expect(one.ends.length).toBeGreaterThan(refused), PATIENCE);
      await two.signal("SIGKILL", "off");
      await vi.waitFor(async () => expect((await one.get("/ready")).status).toBe(200), PATIENCE);
      expect(new Set(one.ends.slice(1))).toEqual(new Set([74]));
    } finally {
      await own.close();
    }
  });
});

const analyze = spawnSync("systemd-analyze", ["--version"]).status === 0;
it.skipIf(!analyze)("the unit with the page's drop-in is one that systemd reads without a complaint", async () => {
  const folder = await temporaryFolder();
  const unit = join(folder, "svc.service");
  // The program may be absent where this runs, and the user.
  writeFileSync(unit, read("cli/systemd/svc.service").replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));
  mkdirSync(`${unit}.d`);
  writeFileSync(join(`${unit}.d`, "override.conf"), pageSample(PAGE, "unit"));
  const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", unit], { encoding: "utf8", env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` } });
  expect(stderr.split("\n").filter((line) => line.includes("svc.service"))).toEqual([]);
});

// No compose is here to run it: names and forms of the settings are compared with those of its specification, no container is started.
it("the page's compose file is YAML, its settings are those of the compose specification, and no two containers share a folder or port", async () => {
  const { parse } = await import("yaml");
  const { services, ...rest } = parse(pageSample(PAGE, "compose"), { merge: true }) as { services: Record<string, Record<string, unknown>> };
  expect(rest).toEqual({});
  const forms: Record<string, (value: unknown) => boolean> = {
    image: (value) => typeof value === "string",
    restart: (value) => ["no", "always", "on-failure", "unless-stopped"].includes(String(value)),
    stop_grace_period: (value) => /^(\d+h)?(\d+m)?(\d+s)?$/.test(String(value)),
    environment: (value) => Object.values(value as object).every((one) => typeof one === "string"),
    volumes: (value) => (value as string[]).every((one) => /^\.\/\w+:\/data$/.test(one)),
    ports: (value) => (value as string[]).every((one) => /^127\.0\.0\.1:\d+:18800$/.test(one)),
  };
  expect(Object.keys(services)).toEqual(["n1", "n2"]);
  for (const [name, service] of Object.entries(services))
    for (const [key, value] of Object.entries(service)) expect([name, key, forms[key]?.(value)]).toEqual([name, key, true]);
  for (const key of ["volumes", "ports"]) expect(new Set(Object.values(services).map((service) => String(service[key]))).size).toBe(2);
});
