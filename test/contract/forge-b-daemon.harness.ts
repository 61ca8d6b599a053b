import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { ask, type DaemonProcess, startDaemon, writeConfig } from "../faults/daemon.harness.ts";
import { type ForgeBServer, startForgeB } from "../kit/forge-b/server.ts";
import type { ForgeComment, ForgePlace } from "../kit/forge-server.ts";
import { freePort } from "../kit/free-port.ts";

export const REPO = "acme/app";
export const SECRET = "a-secret-of-hooks";
export const OWN = "ghp_own_token_of_helper";
export const COMMON = "ghp_common_token";

/** A real daemon, its forge, and the hook between them. */
export interface World {
  readonly far: ForgeBServer;
  readonly folder: string;
  readonly issue: ForgePlace;
  readonly daemon: () => DaemonProcess;
  /** Starts it, again after a kill; with other settings of the channel, as an App, and agents where they are given. */
  start(channel?: object, agents?: object): Promise<void>;
  /** The App's key and client id, as settings. */
  app(): object;
  state(): Promise<{ readonly state: string; readonly reason?: string }>;
  decisions(): Promise<readonly { readonly url: string; readonly reason?: string }[]>;
  /** Comments of agents at a place, without their hidden signature. */
  answers(place: ForgePlace): readonly (ForgeComment & { readonly words: string })[];
  /** Resolves when so many answers are done there. */
  answered(place?: ForgePlace, count?: number): Promise<void>;
  /** Resolves when that is the reason why nothing was done about a comment. */
  decided(reason: string, about: ForgeComment): Promise<void>;
  /** Resolves when all that was told is done. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const open: World[] = [];
/** By whether the channel is an App. */
const shared = new Map<boolean, World>();
const closeShared = async () => {
  for (const world of shared.values()) await world.close();
  shared.clear();
};
afterEach(async ({ task }) => {
  for (const one of open.splice(0)) await one.close();
  if (task.result?.state === "fail") await closeShared();
});
afterAll(closeShared);

/** The one of the tests that need no other: its daemon runs, and each test has an issue of its own. After a failure there is a new one. */
export async function sharedWorld({ app = false } = {}): Promise<World> {
  const world = shared.get(app) ?? (await makeWorld());
  if (!shared.has(app)) await world.start(app ? world.app() : {});
  shared.set(app, world);
  const issue = world.far.open("ada", REPO, "issue", { title: "It breaks" });
  await world.idle();
  return { ...world, issue, answered: (place = issue, count) => world.answered(place, count) };
}

/** For one test; it ends with it. */
export async function createWorld(): Promise<World> {
  const world = await makeWorld();
  open.push(world);
  return world;
}

/** The helper has a token of its own, the second agent answers by the common one; Ada may write, Rita report, Mallory nothing. */
async function makeWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "svc-forge-b-"));
  const far = await startForgeB();
  for (const login of ["ada", "rita", "mallory", "helper", "svc"]) far.addUser(login);
  far.addUser("ci[bot]", { bot: true });
  far.addToken(OWN, "helper");
  far.addToken(COMMON, "svc");
  far.addProject(REPO, { members: { ada: "write", rita: "report", helper: "write", svc: "write" }, labels: ["bug"] });
  far.install([REPO]);
  const port = await freePort();
  far.hooks.add(`http://127.0.0.1:${port}/webhook/forge_b`, SECRET);
  mkdirSync(join(folder, "w"));
  let running: DaemonProcess | undefined;
  const issue = far.open("ada", REPO, "issue", { title: "It breaks" });
  const world: World = {
    far,
    folder,
    issue,
    daemon() {
      if (running === undefined) throw new Error("no daemon was started");
      return running;
    },
    app() {
      const privateKeyFile = join(folder, "app.pem");
      writeFileSync(privateKeyFile, far.app.privateKey);
      return { token: undefined, agentMappings: [], clientId: far.app.clientId, privateKeyFile, routes: [{ repo: "*", agent: "helper" }] };
    },
    async start(channel = {}, agents = {}) {
      const echo = (name: string) => ({ name, workspace: "./w", tier: "local", local: { mode: "echo", step: true } });
      writeConfig(folder, {
        agents: { helper: echo("Helper"), second: echo("Second"), ...agents },
        node: { id: "forge", name: "Forge", bind: "127.0.0.1:0", defaultAgent: "helper" },
        channels: {
          forge_a: { enabled: false, webhookPort: port },
          forge_b: {
            enabled: true,
            apiRoot: far.url,
            webhookSecret: SECRET,
            token: COMMON,
            agentMappings: [
              { agentId: "helper", token: OWN },
              { agentId: "second", forgeUsernames: ["second"] },
            ],
            ...channel,
          },
        },
      });
      running = await startDaemon(folder);
      await until(async () => ["ready", "down"].includes((await world.state()).state));
    },
    async state() {
      const { body } = await ask<{ channels: { name: string; state: string; reason?: string }[] }>(world.daemon().port, "/channels");
      return body.channels.find(({ name }) => name === "forge_b") ?? { state: "none" };
    },
    async decisions() {
      const { body } = await ask<{ decisions: never[] }>(world.daemon().port, "/forges?limit=500");
      return body.decisions;
    },
    answers: (place) =>
      far
        .comments(place)
        .filter(({ by }) => ["helper", "svc", "svc-app[bot]"].includes(by))
        .map((comment) => ({ ...comment, words: comment.text.replace(/\n<!-- svc1 .* -->$/, "") })),
    answered: (place = issue, count = 1) => until(() => world.answers(place).filter(({ words }) => words.includes("answered")).length >= count),
    decided: (reason, { id }) =>
      until(async () => (await world.decisions()).some((one) => one.reason?.includes(reason) && one.url.endsWith(`#issuecomment-${id}`))),
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
