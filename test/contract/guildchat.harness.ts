import type { Agent, Lifecycle, Sockets, Store } from "@svc/sdk";
import { createFakeContext, createMemoryStore, type FakeContext } from "@svc/sdk/testing";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createSockets } from "../../kernel/capabilities/fetch/sockets.ts";
import plugin from "../../plugins/channels/guildchat/index.ts";
import type { Settings } from "../../plugins/channels/guildchat/settings.ts";
import { freePort } from "../kit/free-port.ts";
import { type GuildFarEnd, startGuildFarEnd } from "../kit/guildchat/server.ts";
import type { Place, User } from "../kit/guildchat/world.ts";

/** The plugin against its far end: a guild with one channel, a friend who is listed, a stranger who is not. */
export interface Stage {
  readonly far: GuildFarEnd;
  readonly context: FakeContext<Settings>;
  readonly friend: User;
  readonly stranger: User;
  readonly general: Place;
  readonly direct: Place;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface StageOptions {
  readonly section?: Settings;
  readonly agents?: readonly (Pick<Agent, "id"> & Partial<Agent>)[];
  readonly far?: GuildFarEnd;
  readonly store?: Store;
  readonly keepFar?: boolean;
}

const worlds = new WeakMap<GuildFarEnd, { readonly friend: User; readonly stranger: User; readonly general: Place }>();

/** The people and places of a far end, made once. */
export function peopleOf(far: GuildFarEnd) {
  const known = worlds.get(far) ?? {
    friend: far.owner,
    stranger: far.world.addUser("mallory"),
    general: far.addGuild("The Garden").place,
  };
  worlds.set(far, known);
  return { ...known, direct: far.world.direct(far.bot.id, known.friend.id) };
}

export async function setStage(options: StageOptions = {}): Promise<Stage> {
  const far = options.far ?? (await startGuildFarEnd());
  const people = peopleOf(far);
  const ends = new AbortController();
  const sockets: Sockets = createSockets({ plugin: "channel-guildchat", signal: ends.signal });
  const context = createFakeContext<Settings>(plugin as never, {
    config: { enabled: true, token: far.token, agentBinding: "anna", apiRoot: far.root, allowFrom: [people.friend.id], ...options.section },
    agents: options.agents ?? [{ id: "anna", mentions: ["anna"] }],
    fetch: createFetch(),
    sockets,
    store: options.store ?? createMemoryStore(),
  });
  let lifecycle: Lifecycle<Settings> = {};
  return {
    far,
    context,
    ...people,
    async start() {
      lifecycle = plugin.setup(context) as Lifecycle<Settings>;
      await lifecycle.start?.();
      await until(() => context.registered.channels[0]?.state !== "connecting");
    },
    async stop() {
      await lifecycle.stop?.();
      context.end();
      ends.abort();
      if (!options.keepFar) await far.close();
    },
  };
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 3));
}

/** A root where nobody listens. */
export const deadRoot = async (): Promise<string> => `http://127.0.0.1:${await freePort()}/api`;
