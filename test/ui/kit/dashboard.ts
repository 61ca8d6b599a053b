import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { type DaemonProcess, startDaemon } from "../../faults/daemon.harness.ts";

/** What a test may say about its dashboard. */
export interface DashboardOptions {
  /** Sections of svc.json beside those of the test; `dashboard` is merged. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Fills the folder before the daemon starts: definitions, workspaces, `.env`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Fills the data folder before the daemon starts, such as with what earlier days have left. */
  prepare?(folder: string): Promise<void>;
  /** Writes svc.json into the empty folder by itself, as a person would; `config` and `token` are not asked then. */
  begin?(folder: string): Promise<void>;
  /** Variables of the daemon's environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Fills the running daemon by its own routes. */
  seed?(at: Dashboard): Promise<void>;
  /** Without it, this machine needs no token. */
  readonly token?: string;
}

/** A real daemon in a folder of its own, with its dashboard. */
export interface Dashboard {
  /** Of the dashboard: `http://127.0.0.1:41234`. */
  readonly url: string;
  /** Of the daemon itself. */
  readonly daemon: string;
  readonly token: string | undefined;
  readonly folder: string;
  readonly process: DaemonProcess;
  /** A request to the dashboard with its token; JSON in, JSON out; throws for 400 and above. */
  api<T = unknown>(method: string, path: string, body?: unknown): Promise<T>;
  /** Starts it again in its folder, at the same address: after `process.kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The least that a daemon with pages needs: one agent that says things back. */
export const echoAgent = (more: object = {}) => ({ name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" }, ...more });

const running: Dashboard[] = [];
// A hook that is asked for within another one is not heard: this one is the file's.
afterAll(async () => {
  for (const dashboard of running.splice(0)) await dashboard.stop();
});

/**
 * Starts a daemon with its dashboard; both end after the tests of the file, unless they are stopped before. A test that changes what the daemon
 * keeps has one of its own in `beforeEach`, and stops it: what a failed attempt has left must not fail the next one.
 */
export async function startDashboard({ config = {}, files = {}, env = {}, begin, prepare, seed, token }: DashboardOptions = {}): Promise<Dashboard> {
  const folder = await mkdtemp(join(tmpdir(), "svc-ui-"));
  const { dashboard, ...rest } = config as { dashboard?: object };
  const written = {
    node: { id: "workshop", name: "workshop", bind: "127.0.0.1:0", defaultAgent: "echo" },
    agents: { echo: echoAgent() },
    ...rest,
    dashboard: { enabled: true, port: 0, ...(token === undefined ? {} : { token }), ...dashboard },
  };
  await (begin?.(folder) ?? writeFile(join(folder, "svc.json"), JSON.stringify(written, null, 2)));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await prepare?.(folder);
  const start = () => startDaemon(folder, { env: { SVC_LOG_LEVEL: "info", ...env } });
  let daemon = await start();
  const url = await dashboardOf(daemon);
  const at: Dashboard = {
    url,
    get daemon() {
      return `http://127.0.0.1:${daemon.port}`;
    },
    token,
    folder,
    get process() {
      return daemon;
    },
    async api<T>(method: string, path: string, body?: unknown) {
      const answer = await fetch(url + path, {
        method,
        headers: {
          "x-requested-with": "svc-board",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return (text === "" ? undefined : JSON.parse(text)) as T;
    },
    async restart() {
      const file = join(folder, "svc.json");
      const now = JSON.parse(await readFile(file, "utf8")) as { dashboard: object };
      await writeFile(file, JSON.stringify({ ...now, dashboard: { ...now.dashboard, port: Number(new URL(url).port) } }, null, 2));
      daemon = await start();
      await dashboardOf(daemon);
    },
    async stop() {
      const known = running.indexOf(at);
      if (known !== -1) running.splice(known, 1);
      // Tests leave tasks running that would be waited for.
      await daemon.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
  running.push(at);
  await seed?.(at);
  return at;
}

/** Where the dashboard listens, as the log says it. */
async function dashboardOf(daemon: DaemonProcess): Promise<string> {
  for (;;) {
    const found = /the dashboard listens on ([\d.]+:\d+)/.exec(daemon.said());
    if (found !== null) return `http://${found[1]}`;
    const ended = await Promise.race([daemon.ended, new Promise((resolve) => setTimeout(resolve, 20))]);
    if (ended !== undefined) throw new Error(`the daemon ended with ${ended}: ${daemon.said()}`);
  }
}
