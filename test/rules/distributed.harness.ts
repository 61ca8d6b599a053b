import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { endDaemons, type Launched, launch, readNote } from "../faults/daemon.harness.ts";
import { ROOT } from "../house/house.ts";
import { freePort } from "../kit/free-port.ts";
import { pageSample } from "../kit/page-sample.ts";
import { startPostgres, type TestServer } from "../kit/postgres.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import { startNginx } from "../kit/web-proxy.ts";

export const PAGE = "docs/distributed.md";
export const PATIENCE = { timeout: 40_000, interval: 100 };
const PEER = "peer-secret-0123456789";

/** Words of `text` for other words, each of which must stand there: what a reader's machine has and a test's has not. */
export function instead(text: string, words: Readonly<Record<string, string>>): string {
  for (const [from, to] of Object.entries(words)) {
    if (!text.includes(from)) throw new Error(`${PAGE}: '${from}' does not stand in: ${text}`);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** The settings of the unit with the page's drop-in: of a setting that stands twice the last one counts. */
export function unitSettings(): ReadonlyMap<string, string> {
  const text = readFileSync(join(ROOT, "cli/systemd/svc.service"), "utf8") + pageSample(PAGE, "unit");
  return new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
}

/** One machine: its folder, its daemon, and a supervisor that does what the unit says of a daemon that ended. */
export interface Machine {
  readonly shell: Shell;
  /** With what each of its daemons has ended. */
  readonly ends: readonly (number | string)[];
  /** What its daemons have said. */
  said(): string;
  /** Switches it on, and waits until its daemon listens. */
  on(): Promise<void>;
  /** Starts the daemon and its supervisor, and waits for nothing. */
  supervise(): void;
  /** Sends its daemon a signal; with `off` the supervisor does not start another one. */
  signal(signal: NodeJS.Signals, off?: "off"): Promise<void>;
  get(path: string): Promise<{ status: number; body: Record<string, unknown> }>;
  /** What its programs find in their environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** The page's machines over one server, each in a folder of its own, behind its proxy. */
export interface Stage {
  readonly server: TestServer;
  readonly url: string;
  /** `id`: its node.id, where it is not its name. */
  machine(name: "n1" | "n2" | "n3", id?: string): Promise<Machine>;
  /** Starts nginx as the page has it, before the first two machines. */
  proxy(): Promise<void>;
  /** Asks through the proxy, as a caller from outside does. */
  ask(message: string, key?: string): Promise<{ status: number; body: { reply?: string; error?: unknown } }>;
  hold(): void;
  goOn(): void;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const server = await startPostgres();
  server.sql("CREATE DATABASE svc");
  const folder = await mkdtemp(join(tmpdir(), "svc-distributed-"));
  const ports = { n1: await freePort(), n2: await freePort(), n3: await freePort() };
  const [variable = "", url = ""] = instead(pageSample(PAGE, "environment").trim(), { "db.example:5432": `127.0.0.1:${server.port}` }).split(/=(.*)/);
  const machines = new Map<string, Machine>();
  let proxyPort: number | undefined;

  async function machine(name: "n1" | "n2" | "n3", id: string = name): Promise<Machine> {
    const found = machines.get(name);
    if (found !== undefined) return found;
    const place = join(folder, name);
    mkdirSync(place);
    const { node, ...rest } = JSON.parse(instead(pageSample(PAGE, "svc"), { "10.0.0.1:18800": `127.0.0.1:${ports[name]}`, "10.0.0.9": "127.0.0.1" }));
    const config = {
      node: { ...node, id, defaultAgent: "held" },
      ...rest,
      agents: { held: { name: "Held", workspace: "./w", tier: "held", maxConcurrent: 8, queueMode: "followup" } },
      plugins: [join(ROOT, "test/faults/held.mjs"), join(import.meta.dirname, "single-channel.mjs")],
      mesh: { enabled: true, peers: [{ name: "afar", url: "http://192.0.2.1:18800", token: PEER }] },
      shutdown: { drainTimeoutSeconds: 5 },
    };
    const env = { [variable]: url, SVC_TEST_LEDGER: join(folder, "ledger") };
    const shell = await openShell(env, place);
    writeFileSync(join(place, "svc.json"), JSON.stringify(config, null, 2));
    const made = supervised(place, shell, env);
    machines.set(name, made);
    return made;
  }

  return {
    server,
    url,
    machine,
    async proxy() {
      const upstream = instead(pageSample(PAGE, "nginx"), { "10.0.0.1:18800": `127.0.0.1:${ports.n1}`, "10.0.0.2:18800": `127.0.0.1:${ports.n2}` });
      const site = instead(pageSample("docs/proxy.md", "nginx"), { "http://127.0.0.1:18800": "http://svc" });
      proxyPort = await startNginx(`${upstream}${site}`, await freePort());
    },
    async ask(message, key) {
      const response = await fetch(`http://127.0.0.1:${proxyPort}/task`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          authorization: `Bearer ${PEER}`,
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: JSON.stringify({ agent: "held", message }),
      });
      return { status: response.status, body: (await response.json()) as { reply?: string } };
    },
    hold: () => writeFileSync(join(folder, "hold"), ""),
    goOn: () => rmSync(join(folder, "hold"), { force: true }),
    async close() {
      for (const one of machines.values()) await one.signal("SIGKILL", "off");
      await endDaemons();
      await server.stop();
      await rm(folder, { recursive: true, maxRetries: 5 });
    },
  };
}

function supervised(folder: string, shell: Shell, env: Readonly<Record<string, string>>): Machine {
  const unit = unitSettings();
  const never = (unit.get("RestartPreventExitStatus") ?? "").split(" ").map(Number);
  const good = [0, ...(unit.get("SuccessExitStatus") ?? "").split(" ").map(Number)];
  const always = (unit.get("RestartForceExitStatus") ?? "").split(" ").map(Number);
  const ends: (number | string)[] = [];
  let said = "";
  let current: Launched | undefined;
  let off = true;

  const again = (end: number | string) =>
    !never.includes(Number(end)) &&
    (unit.get("Restart") === "always" || always.includes(Number(end)) || (unit.get("Restart") === "on-failure" && !good.includes(Number(end))));

  function supervise(): void {
    off = false;
    rmSync(join(folder, ".svc/daemon.json"), { force: true });
    const launched = launch(folder, { env });
    current = launched;
    const ended = async () => {
      const end = await launched.ended;
      ends.push(end);
      said += launched.said();
      await new Promise((resolve) => setTimeout(resolve, Number(unit.get("RestartSec")) * 1_000));
      if (!off && again(end)) supervise();
    };
    ended().catch(() => {});
  }

  const note = () => readNote(join(folder, ".svc/daemon.json"));
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${note()?.port}${path}`, { headers: { connection: "close" } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  return {
    shell,
    ends,
    env,
    said: () => said + (current?.said() ?? ""),
    supervise,
    async on() {
      supervise();
      await vi.waitFor(async () => expect((await get("/ready")).status, said).toBe(200), PATIENCE);
    },
    async signal(signal, wanted) {
      if (wanted === "off") off = true;
      if (current === undefined || current.gone) return;
      process.kill(current.pid, signal);
      if (wanted === "off") await current.ended;
    },
    get,
  };
}
