import type { Agent, Lifecycle, Store } from "@svc/sdk";
import { createFakeContext, createMemoryStore, type FakeContext } from "@svc/sdk/testing";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import { createRender } from "../../kernel/capabilities/render/render.ts";
import plugin from "../../plugins/channels/teamchat/index.ts";
import type { Settings } from "../../plugins/channels/teamchat/settings.ts";
import { startTeamchat, type Teamchat } from "../kit/teamchat/server.ts";

export const TEAM = "T1";
export const BOT = `UB${TEAM}`;
/** Allowed, with a direct conversation and in the channel. */
export const ADA = "U1ADA";
/** Of the same workspace, not allowed. */
export const MALLORY = "U2MALLORY";
export const DIRECT = "D1ADA";
export const STRANGE = "D2MALLORY";
export const CHANNEL = "C1GARDEN";

export interface Stage {
  readonly far: Teamchat;
  readonly context: FakeContext<Settings>;
  readonly store: Store;
  /** Set up and connect; resolves when it is ready, or down with a reason. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A far end with one workspace, two people, their direct conversations and a channel. */
export async function furnish(far?: Teamchat): Promise<Teamchat> {
  const server = far ?? (await startTeamchat());
  server.addWorkspace(TEAM, { name: "Acme" });
  server.addPerson(TEAM, ADA, "ada", "Ada Byron");
  server.addPerson(TEAM, MALLORY, "mallory");
  server.addRoom(TEAM, "im", DIRECT, [ADA, BOT]);
  server.addRoom(TEAM, "im", STRANGE, [MALLORY, BOT]);
  server.addRoom(TEAM, "channel", CHANNEL, [ADA, MALLORY, BOT]);
  return server;
}

/** The plugin with real HTTP and real WebSockets against its far end. */
export async function setStage(
  options: { far?: Teamchat; config?: Partial<Settings>; agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[]; store?: Store; keepFar?: boolean } = {},
): Promise<Stage> {
  const far = options.far ?? (await furnish());
  const [workspace] = far.world.workspaces;
  const store = options.store ?? createMemoryStore();
  const end = new AbortController();
  const config: Settings = {
    enabled: true,
    apiRoot: far.root,
    botToken: workspace?.botToken ?? "",
    appToken: workspace?.appToken ?? "",
    agentBinding: "anna",
    allowFrom: [ADA],
    ...options.config,
  };
  const context = createFakeContext<Settings>(plugin as never, {
    config,
    agents: options.agents ?? [{ id: "anna", mentions: ["anna"] }],
    fetch: createFetch(),
    sockets: createSockets({ plugin: "channel-teamchat", signal: end.signal }),
    render: createRender(),
    store,
  });
  let lifecycle: Lifecycle<Settings> = {};
  return {
    far,
    context,
    store,
    async start() {
      lifecycle = plugin.setup(context) as Lifecycle<Settings>;
      await lifecycle.start?.();
      await until(() => context.registered.channels[0]?.state === "ready" || /refuse|lacks|holds/.test(context.registered.channels[0]?.reason ?? ""));
    },
    async stop() {
      await lifecycle.stop?.();
      context.end();
      end.abort();
      if (!options.keepFar) await far.close();
    },
  };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 3));
}
