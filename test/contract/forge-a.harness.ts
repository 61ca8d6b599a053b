import type { Forge, ForgeHandle, ForgeNote, ForgePlace, Forges, Lifecycle, Store } from "@svc/sdk";
import { createFakeContext, type FakeContext } from "@svc/sdk/testing";
import { afterEach } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import plugin from "../../plugins/channels/forge-a/index.ts";
import type { Settings } from "../../plugins/channels/forge-a/settings.ts";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import type { ForgePlace as Spot } from "../kit/forge-server.ts";

export const PROJECT = "grp/sub/tool";
export const OWN = "glpat-own-token-of-anna";
export const COMMON = "glpat-common-token";

/** The plugin at its far end, with a service `forges` that keeps what it is handed. */
export interface Stage {
  readonly far: ForgeA;
  readonly context: FakeContext<Settings>;
  readonly issue: Spot;
  /** What the plugin connected; undefined before. */
  readonly forge: Forge;
  /** How often it said that the forge answers. */
  readonly readied: () => number;
  /** The place of an issue or request as the plugin names it. */
  place(spot: Spot, more?: Partial<ForgePlace>): ForgePlace;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) await stage.stop();
});

/** Anna answers by her own token, Bert by the common one; Ada writes. */
export async function setStage(settings: Partial<Settings> = {}, options: { readonly far?: ForgeA; readonly store?: Store } = {}): Promise<Stage> {
  const far = options.far ?? (await startForgeA());
  if (options.far === undefined) {
    for (const login of ["ada", "mallory"]) far.addUser(login);
    for (const login of ["anna", "svc"]) far.addUser(login, { bot: true });
    far.addToken(OWN, "anna");
    far.addToken(COMMON, "svc");
    far.addProject(PROJECT, { private: true, members: { ada: "write", anna: "write", svc: "write" }, labels: ["bug", "Doing"] });
    far.open("ada", PROJECT, "issue", { title: "It breaks", text: "words of the issue" });
  }
  const issue: Spot = { project: PROJECT, kind: "issue", id: 1 };
  let forge: Forge | undefined;
  let readied = 0;
  const forges: Forges = {
    async connect(given) {
      forge = given;
      return { ready: () => void (readied += 1), disconnect: async () => undefined } as unknown as ForgeHandle;
    },
  };
  const context = createFakeContext<Settings>(plugin as never, {
    config: {
      enabled: true,
      host: far.url,
      webhookSecret: "s3cret-of-hooks",
      token: COMMON,
      agentMappings: [
        { agentId: "anna", forgeUsernames: ["anna"], token: OWN },
        { agentId: "bert", forgeUsernames: ["bert"] },
      ],
      ...settings,
    },
    agents: [{ id: "anna" }, { id: "bert" }, { id: "carl" }],
    fetch: createFetch(),
    services: { forges },
    ...(options.store === undefined ? {} : { store: options.store }),
  });
  let lifecycle: Lifecycle<Settings> = {};
  const stage: Stage = {
    far,
    context,
    issue,
    get forge() {
      if (forge === undefined) throw new Error("the plugin has connected no forge");
      return forge;
    },
    readied: () => readied,
    place({ project, kind, id, thread }, more = {}) {
      const found = far.state.projects.find(({ path }) => path === project);
      if (found === undefined) throw new Error(`no project ${project}`);
      return {
        project: { id: String(found.id), path: project, private: found.private },
        kind,
        id: String(id),
        ...(thread === undefined ? {} : { thread }),
        ...more,
      };
    },
    async start() {
      lifecycle = plugin.setup(context as never) as Lifecycle<Settings>;
      await lifecycle.start?.();
    },
    async stop() {
      await lifecycle.stop?.();
      context.end();
      if (options.far === undefined) await far.close();
    },
  };
  open.push(stage);
  return stage;
}

/** Waits until something is so. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

export const signal = new AbortController().signal;

/** All notes of a list. */
export async function all(notes: AsyncIterable<ForgeNote>): Promise<readonly ForgeNote[]> {
  const found: ForgeNote[] = [];
  for await (const note of notes) found.push(note);
  return found;
}
