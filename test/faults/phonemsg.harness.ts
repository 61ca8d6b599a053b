import { type ChildProcess, fork } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setStage } from "../contract/phonemsg.harness.ts";
import type { Person } from "../kit/phonemsg/accounts.ts";
import type { PhoneServer } from "../kit/phonemsg/server.ts";

/** A daemon with the channel in a process of its own. */
export interface PhoneDaemon {
  /** What it has written to standard error. */
  said(): string;
  /** Its channel, as `svc channel list` shows it. */
  channel(): Promise<{ readonly state: string; readonly reason?: string } | undefined>;
  get(path: string): Promise<unknown>;
  /** Ends it and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/** A far end that knows a linked device, and folders of daemons that are that device. */
export interface PhoneSet {
  readonly server: PhoneServer;
  readonly people: readonly Person[];
  /** Where the session lies. */
  readonly session: string;
  /** Starts a daemon in its folder; another name is another daemon, on the same session unless `settings` say otherwise. */
  start(name?: string, settings?: object, local?: object): Promise<PhoneDaemon>;
  /** Ends its daemons, for the next test: the linked device stays. */
  rest(): Promise<void>;
  close(): Promise<void>;
}

const PEOPLE = 5;

/** Links a phone and leaves everything ready for a start. `at` makes the folder of the session before anything is in it. */
export async function preparePhone({ at }: { at?: (session: string) => void } = {}): Promise<PhoneSet> {
  const folder = await mkdtemp(join(tmpdir(), "svc-phonemsg-"));
  const session = join(folder, "session");
  mkdirSync(session, { mode: 0o700 });
  at?.(session);
  const stage = await setStage({ folder, settings: { sessionDir: "session" } });
  await stage.start();
  await stage.halfStop();
  const server = stage.far;
  const people = Array.from({ length: PEOPLE }, (_, n) => server.accounts.add(`4915110000${n}${n}`, `Person ${n}`));
  for (const [n, person] of people.entries()) person.hides = n % 2 === 1;
  const running = new Set<PhoneDaemon>();

  const start = async (name = "one", settings: object = {}, local: object = { mode: "echo", delayMs: 5 }): Promise<PhoneDaemon> => {
    const place = join(folder, name);
    mkdirSync(join(place, ".svc"), { recursive: true, mode: 0o700 });
    const config = join(place, "svc.json");
    const document = {
      node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0" },
      agents: { a: { name: "A", workspace: join(place, "w"), tier: "local", maxConcurrent: 8, queueMode: "followup", local } },
      resume: { maxAttempts: 1_000, crashLoop: { restarts: 10_000, windowMinutes: 1 } },
      channels: {
        phonemsg: {
          enabled: true,
          server: server.url,
          mediaServer: server.mediaUrl,
          sessionDir: session,
          defaultAgent: "a",
          acknowledge: "",
          allowFrom: people.map(({ number }) => number),
          ...settings,
        },
      },
    };
    writeFileSync(config, JSON.stringify(document), { mode: 0o600 });
    const daemon = await startDaemon(config);
    running.add(daemon);
    return daemon;
  };
  const rest = async () => {
    for (const daemon of running) await daemon.kill();
    running.clear();
  };
  return {
    server,
    people,
    session,
    start,
    rest,
    async close() {
      await rest();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startDaemon(config: string): Promise<PhoneDaemon> {
  const child: ChildProcess = fork(join(import.meta.dirname, "phonemsg-daemon.mjs"), [config], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let errors = "";
  child.stderr?.on("data", (chunk) => (errors += chunk));
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message) => resolve((message as { port: number }).port));
    child.once("exit", (code) => reject(new Error(`the daemon ended with ${code} before it was ready:\n${errors}`)));
  });
  const get = async (path: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}${path}`)).json();
  return {
    said: () => errors,
    get,
    async channel() {
      const { channels } = (await get("/channels")) as { channels: { name: string; state: string; reason?: string }[] };
      return channels.find(({ name }) => name === "phonemsg");
    },
    kill: (signal = "SIGKILL") =>
      new Promise((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once("exit", () => resolve());
        child.kill(signal);
      }),
  };
}
