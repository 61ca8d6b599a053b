import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { ask, type DaemonProcess, startDaemon, writeConfig } from "../faults/daemon.harness.ts";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import type { ForgeComment, ForgePlace } from "../kit/forge-server.ts";
import { freePort } from "../kit/free-port.ts";

export const PROJECT = "grp/sub/tool";
export const SECRET = "s3cret-of-hooks";
export const ANNA = "glpat-own-token-of-anna";
export const COMMON = "glpat-common-token";

/** A real daemon, its forge, and the hook between them. */
export interface World {
  readonly far: ForgeA;
  readonly folder: string;
  readonly hook: string;
  readonly issue: ForgePlace;
  readonly daemon: () => DaemonProcess;
  /** Starts it, again after a kill, with other settings of the channel or agents where they are given. */
  start(channel?: object, agents?: object): Promise<void>;
  /** What stands in the log of decisions, newest first. */
  decisions(): Promise<readonly { readonly url: string; readonly agents: readonly string[]; readonly reason?: string; readonly via: string }[]>;
  /** Comments of agents at a place, without their hidden signature. */
  answers(place: ForgePlace): readonly (ForgeComment & { readonly words: string })[];
  /** Resolves when all that was told is done. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const open: World[] = [];
let shared: World | undefined;
const closeShared = async () => {
  await shared?.close();
  shared = undefined;
};
afterEach(async ({ task }) => {
  for (const one of open.splice(0)) await one.close();
  if (task.result?.state === "fail") await closeShared();
});
afterAll(closeShared);

/** The one of the tests that need no other: its daemon runs, and each test has an issue of its own. After a failure there is a new one. */
export async function sharedWorld(): Promise<World> {
  const world = shared ?? (await makeWorld());
  if (shared === undefined) await world.start();
  shared = world;
  const issue = world.far.open("ada", PROJECT, "issue", { title: "It breaks" });
  await world.idle();
  return { ...world, issue };
}

/** For one test; it ends with it. */
export async function createWorld(): Promise<World> {
  const world = await makeWorld();
  open.push(world);
  return world;
}

/** Anna has a token of her own, Bert answers by the common one; Ada may write, Rita report, Mallory nothing. */
async function makeWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "svc-forge-a-"));
  const far = await startForgeA();
  for (const login of ["ada", "rita", "mallory"]) far.addUser(login);
  for (const login of ["anna", "svc", "ci-bot"]) far.addUser(login, { bot: true });
  far.addToken(ANNA, "anna");
  far.addToken(COMMON, "svc");
  far.addProject(PROJECT, { members: { ada: "write", rita: "report", anna: "write", svc: "write", "ci-bot": "write" }, labels: ["bug", "Doing"] });
  const port = await freePort();
  const hook = `http://127.0.0.1:${port}/webhook/forge_a`;
  far.hooks.add(hook, SECRET);
  mkdirSync(join(folder, "w"));
  let running: DaemonProcess | undefined;
  const issue = far.open("ada", PROJECT, "issue", { title: "It breaks" });
  const world: World = {
    far,
    folder,
    hook,
    issue,
    daemon() {
      if (running === undefined) throw new Error("no daemon was started");
      return running;
    },
    async start(channel = {}, agents = {}) {
      const echo = (name: string) => ({ name, workspace: "./w", tier: "local", local: { mode: "echo", step: true } });
      writeConfig(folder, {
        agents: { anna: echo("Anna"), bert: echo("Bert"), ...agents },
        node: { id: "forge", name: "Forge", bind: "127.0.0.1:0", defaultAgent: "anna" },
        channels: {
          forge_a: {
            enabled: true,
            host: far.url,
            webhookPort: port,
            webhookSecret: SECRET,
            token: COMMON,
            agentMappings: [
              { agentId: "anna", forgeUsernames: ["anna"], token: ANNA },
              { agentId: "bert", forgeUsernames: ["bert"] },
            ],
            ...channel,
          },
        },
      });
      running = await startDaemon(folder);
      await until(async () => {
        const { body } = await ask<{ channels: { name: string; state: string }[] }>(world.daemon().port, "/channels");
        const state = body.channels.find(({ name }) => name === "forge_a")?.state;
        return state === "ready" || state === "down";
      });
    },
    async decisions() {
      const { body } = await ask<{ decisions: never[] }>(world.daemon().port, "/forges?limit=500");
      return body.decisions;
    },
    answers: (place) =>
      far
        .comments(place)
        .filter(({ by }) => by === "anna" || by === "svc")
        .map((comment) => ({ ...comment, words: comment.text.replace(/\n<!-- svc1 .* -->$/, "") })),
    async idle() {
      await far.hooks.settled();
      await until(async () => {
        const { forges } = (await ask<{ forges: { waiting: number; runs: unknown[] }[] }>(world.daemon().port, "/forges")).body;
        return forges.every(({ waiting, runs }) => waiting === 0 && runs.length === 0);
      });
    },
    async close() {
      await running?.kill("SIGKILL");
      await far.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return world;
}

/** Waits until something is so; the test's own limit ends it. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 25));
}
