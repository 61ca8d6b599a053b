import { type Collection, keepTrying } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { isDirect, isId, isThread, type WireChannel, type WireGuild } from "./wire.ts";

/** Where something can be written. */
export interface Place {
  readonly id: string;
  readonly guild?: string;
  /** The channel that a thread belongs to. */
  readonly parent?: string;
  readonly name?: string;
  readonly direct?: boolean;
}

/** A place that the platform does not list: a direct conversation, or a thread that was closed meanwhile. */
export interface KeptPlace {
  readonly guild?: string;
  readonly parent?: string;
  /** The person of a direct conversation. */
  readonly user?: string;
  /** When it was last written in, to a day. Unix milliseconds. */
  readonly at: number;
}

/** The places that the gateway has told of, and those that are kept. */
export interface Places {
  load(): Promise<void>;
  /** Facts from the gateway about a guild, a channel or a thread. */
  learn(guild: WireGuild): void;
  learnPlace(channel: WireChannel): void;
  forget(id: string): void;
  forgetGuild(id: string): void;
  guildName(id: string): string | undefined;
  /** The role that the platform made for this bot in a guild. */
  role(guild: string): string | undefined;
  readonly guilds: readonly string[];
  get(id: string): Place | undefined;
  /** Asks the platform where it has not told. */
  resolve(id: string, guild: string | undefined, signal: AbortSignal): Promise<Place>;
  /** Something was written there: it is kept where the platform would not list it. */
  heard(place: Place, user?: string): void;
  /** Direct conversations, and threads of the last month. */
  kept(): readonly { readonly id: string; readonly place: KeptPlace }[];
  /** Direct conversations with these people are known from now on, also where nothing was said yet. */
  meet(users: readonly string[], signal: AbortSignal): Promise<void>;
}

const DAY_MS = 86_400_000;
const THREADS_FOR_MS = 30 * DAY_MS;
const MOST_THREADS = 200;

/** Makes the places. `me`: the id of the bot, once it is known. */
export function createPlaces(
  rows: Collection<KeptPlace>,
  api: Api,
  me: () => string | undefined,
  failed: (error: unknown) => void,
  now: () => number = Date.now,
): Places {
  const places = new Map<string, Place>();
  const kept = new Map<string, KeptPlace>();
  const guilds = new Map<string, { name?: string; role?: string }>();

  const learnPlace = (channel: WireChannel, guild = channel.guild_id): Place => {
    const { id, name, parent_id: parent } = channel;
    const place: Place = {
      id,
      ...(guild === undefined ? {} : { guild }),
      ...(isThread(channel) && isId(parent) ? { parent } : {}),
      ...(typeof name === "string" && name !== "" ? { name } : {}),
      ...(isDirect(channel) ? { direct: true } : {}),
    };
    places.set(id, place);
    return place;
  };

  const all = async (): Promise<void> => {
    for (let after: string | undefined; ; ) {
      const page = await rows.list({ limit: 1_000, ...(after === undefined ? {} : { after }) });
      for (const { key, value } of page) {
        if (value.user === undefined && value.at < now() - THREADS_FOR_MS) await rows.delete(key);
        else kept.set(key, value);
      }
      after = page.at(-1)?.key;
      if (page.length < 1_000) return;
    }
  };

  /** Undefined for a bot, for a user without a common guild, and for an unknown user: they have to write first. */
  const conversationWith = async (user: string, signal: AbortSignal): Promise<string | undefined> => {
    try {
      const made = await api.call<WireChannel | null | undefined>({ method: "POST", path: "/users/@me/channels", body: { recipient_id: user }, signal });
      return isId(made?.id) ? made.id : undefined;
    } catch (error) {
      const { failure } = error as { failure?: string };
      if (failure === "permanent" || failure === "format") return undefined;
      throw error;
    }
  };

  return {
    load: all,
    learn({ id, name, channels = [], threads = [], roles = [] }) {
      const role = roles.find(({ tags }) => tags?.bot_id !== undefined && tags.bot_id === me())?.id;
      guilds.set(id, { ...(name === undefined ? {} : { name }), ...(role === undefined ? {} : { role }) });
      for (const channel of [...channels, ...threads]) if (isId(channel?.id)) learnPlace(channel, id);
    },
    learnPlace: (channel) => void (isId(channel?.id) && learnPlace(channel)),
    forget: (id) => void places.delete(id),
    forgetGuild(id) {
      guilds.delete(id);
      for (const [key, { guild }] of places) if (guild === id) places.delete(key);
    },
    guildName: (id) => guilds.get(id)?.name,
    role: (guild) => guilds.get(guild)?.role,
    get guilds() {
      return [...guilds.keys()];
    },
    get: (id) => places.get(id),
    async resolve(id, guild, signal) {
      const known = places.get(id);
      if (known !== undefined) return known;
      const old = kept.get(id);
      if (old?.parent !== undefined && guild !== undefined) return { id, guild, parent: old.parent };
      if (guild === undefined) return learnPlace({ id, type: 1 });
      try {
        return learnPlace(await api.call<WireChannel>({ path: at("channels", id), signal }), guild);
      } catch {
        // It may be answerable all the same; the next message retries.
        return { id, guild };
      }
    },
    heard({ id, guild, parent, direct }, user) {
      if (direct !== true && parent === undefined) return;
      const before = kept.get(id);
      if (before !== undefined && before.at > now() - DAY_MS) return;
      const row: KeptPlace = {
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        ...(user === undefined ? {} : { user }),
        at: now(),
      };
      kept.set(id, row);
      rows.put(id, row).catch(failed);
    },
    async meet(users, signal) {
      const known = new Set([...kept.values()].map(({ user }) => user));
      for (const user of users) {
        if (known.has(user)) continue;
        const id = await keepTrying(() => conversationWith(user, signal), { signal, longestMs: 30_000 });
        if (id === undefined) continue;
        learnPlace({ id, type: 1 });
        kept.set(id, { user, at: now() });
        await rows.put(id, { user, at: now() });
      }
    },
    kept() {
      const found = [...kept].map(([id, place]) => ({ id, place }));
      const threads = found.filter(({ place }) => place.user === undefined).sort((left, right) => right.place.at - left.place.at);
      return [...found.filter(({ place }) => place.user !== undefined), ...threads.slice(0, MOST_THREADS)];
    },
  };
}
