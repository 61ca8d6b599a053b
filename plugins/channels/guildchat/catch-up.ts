import { keepTrying, type Log, reasonOf } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import type { Lines } from "./lines.ts";
import type { Places } from "./places.ts";
import type { Position } from "./position.ts";
import { isId, isLater, type WireChannel, type WireGuild, type WireMessage } from "./wire.ts";

/** Dependencies of reading history. */
export interface CatchUpDeps {
  readonly api: Api;
  readonly lines: Lines;
  readonly places: Places;
  readonly position: Position;
  readonly log: Log;
  readonly signal: AbortSignal;
  take(message: WireMessage): Promise<void>;
}

/** Reads messages sent while no session was connected: the platform does not deliver them to a new one. */
export interface CatchUp {
  /** The channels and threads of a guild as the gateway has just told them. */
  guild(guild: WireGuild): void;
  /** Places that no guild lists: direct conversations, and threads that were closed meanwhile. */
  others(): void;
  /** Before the first message of a direct conversation in this session: what was said there earlier comes first. */
  before(place: string): void;
  /** A new session: what was read for the one before counts no more. */
  began(): void;
  /** Asks for all guilds anew, and reads what has something newer. */
  all(): Promise<void>;
}

const PAGE = 100;
/** More than so many messages of one place are left out: a bot that was away for days reads no whole archive. */
const MOST_PAGES = 20;
/** Histories that are read at the same time. */
const PARALLEL = 4;

/** Makes it. */
export function createCatchUp({ api, lines, places, position, log, signal, take }: CatchUpDeps): CatchUp {
  const gate = createGate(PARALLEL);
  /** Places whose history waits to be read: once is enough. */
  const waiting = new Set<string>();
  /** Places that were asked for in this session. */
  const asked = new Set<string>();

  function read(place: string, guild: string | undefined): void {
    if (waiting.has(place)) return;
    waiting.add(place);
    asked.add(place);
    const done = position.reading();
    const from = position.until;
    lines.add(place, async () => {
      waiting.delete(place);
      try {
        await gate(() => history(place, guild, from));
      } finally {
        done();
      }
    });
  }

  async function history(place: string, guild: string | undefined, from: string): Promise<void> {
    let after = from;
    for (let page = 0; !signal.aborted; page += 1) {
      const found = await pageAfter(place, after);
      for (const message of found) await take({ ...message, ...(guild === undefined ? {} : { guild_id: guild }) });
      after = found.at(-1)?.id ?? after;
      if (found.length < PAGE) return;
      if (page + 1 === MOST_PAGES)
        return log.warn({ place }, `more than ${PAGE * MOST_PAGES} messages were written while this channel was away; the newer ones are not read`);
    }
  }

  /** Oldest first. Tries until the platform answers; a place that it does not show has nothing. */
  async function pageAfter(place: string, after: string): Promise<readonly WireMessage[]> {
    const ask = async () => {
      try {
        return await api.call<readonly WireMessage[]>({ path: at("channels", place, "messages"), query: { after, limit: PAGE }, signal });
      } catch (error) {
        const status = answeredStatus(error) ?? 0;
        if (status < 400 || status >= 500 || status === 429 || status === 401) throw error;
        log.debug({ place, reason: reasonOf(error) }, "the history of a place is not shown to this bot");
        return [];
      }
    };
    const page = await keepTrying(ask, {
      signal,
      longestMs: 30_000,
      failed: (error, failures) => failures === 1 && log.warn({ place, reason: reasonOf(error) }, "a history could not be read; trying again"),
    });
    return (Array.isArray(page) ? page : []).filter((message) => isId(message?.id)).sort((left, right) => (isLater(left.id, right.id) ? 1 : -1));
  }

  const news = ({ id, last_message_id: last }: WireChannel): boolean => isId(id) && isId(last) && isLater(last, position.until);
  const guild = ({ id, channels = [], threads = [] }: WireGuild): void => {
    for (const channel of [...channels, ...threads]) if (news(channel)) read(channel.id, id);
  };
  const others = (): void => {
    // Threads that are open are listed by their guild.
    for (const { id, place } of places.kept()) if (place.user !== undefined || places.get(id) === undefined) read(id, place.guild);
  };

  return {
    guild,
    others,
    before(place) {
      if (!asked.has(place)) read(place, undefined);
    },
    began: () => asked.clear(),
    async all() {
      const done = position.reading();
      try {
        const listed = await api.call<readonly { readonly id: string }[]>({ path: "/users/@me/guilds", query: { limit: 200 }, signal });
        for (const { id } of listed) {
          const channels = await api.call<readonly WireChannel[]>({ path: at("guilds", id, "channels"), signal });
          const { threads } = await api.call<{ threads: readonly WireChannel[] }>({ path: at("guilds", id, "threads", "active"), signal });
          for (const channel of [...channels, ...threads]) places.learnPlace({ ...channel, guild_id: id });
          guild({ id, channels, threads });
        }
        others();
      } catch (error) {
        if (!signal.aborted) log.warn({ reason: reasonOf(error) }, "what was written meanwhile could not be looked for");
      } finally {
        done();
      }
    },
  };
}

/** Lets so many at a time through. */
function createGate(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const queue: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((go) => queue.push(go));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
