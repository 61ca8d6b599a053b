import { type PluginContext, reasonOf } from "@svc/sdk";
import type { Api } from "./api.ts";
import { createBotTalk } from "./bot-talk.ts";
import { createCatchUp } from "./catch-up.ts";
import { createGateway } from "./gateway.ts";
import { createHearing } from "./hearing.ts";
import { createInteractions } from "./interactions.ts";
import { createLines } from "./lines.ts";
import { createPlaces } from "./places.ts";
import { openPosition } from "./position.ts";
import type { Dispatch } from "./sequence.ts";
import type { Settings } from "./settings.ts";
import { isId, type WireChannel, type WireGuild, type WireInteraction, type WireMessage, type WireUser } from "./wire.ts";

/** Dependencies and callbacks of the listener. */
export interface ListenOptions {
  readonly api: Api;
  readonly me: WireUser;
  readonly signal: AbortSignal;
  connected(content: boolean): void;
  away(reason: string, failures: number): void;
  refused(reason: string): void;
}

/** A session that was not resumed for this long has expired at the platform, too. */
const SESSION_MS = 120_000;
/** Interval of checking for missed events while the gateway is silent. */
const SILENCE_MS = 1_800_000;
const LOOK_MS = 600_000;
/** Histories are asked for at most so often because of lost events. */
const AGAIN_MS = 10_000;
/** Conversations that are opened so that their first message is found. */
const MOST_PEOPLE = 25;

/** Hears what people write until the signal aborts, or the platform refuses for good. */
export async function listen(ctx: PluginContext<Settings>, { api, me, signal, connected, away, refused }: ListenOptions): Promise<void> {
  const { config, log, store } = ctx;
  const lines = createLines((error) => {
    if (!signal.aborted) log.error({ err: error }, "an event of the platform could not be dealt with");
  });
  const unkept = (error: unknown) =>
    log.warn({ reason: reasonOf(error) }, "how far this channel has heard could not be stored; it is stored with the next message");
  const position = await openPosition(store.collection("position"), unkept);
  const places = createPlaces(store.collection("places"), api, () => me.id, unkept);
  await places.load();
  const interactions = createInteractions(api, store.collection("commands"), signal);
  const hearing = createHearing({ ctx, api, me, places, interactions, botTalk: createBotTalk(store.collection("bots")), signal });
  const catchUp = createCatchUp({ api, lines, places, position, log, signal, take: (message) => handled(message.id, undefined, () => hearing.take(message)) });
  let begun = false;
  let met = false;
  let again: NodeJS.Timeout | undefined;

  /** Counts as outstanding until it is dealt with; what the end of the plugin cuts off stays outstanding. */
  async function handled(id: string, s: number | undefined, work: () => Promise<void>): Promise<void> {
    const done = position.begin({ ...(s === undefined ? {} : { s }), id });
    await work();
    done();
  }
  const later = (line: string, id: string, s: number, work: () => Promise<void>): void => {
    const done = position.begin({ s, id });
    lines.add(line, async () => {
      await work();
      done();
    });
  };

  function take({ s, t, d }: Dispatch): void {
    const data = (d ?? {}) as Record<string, unknown>;
    if (t === "MESSAGE_CREATE") {
      const message = data as unknown as WireMessage;
      if (isId(message.id) && isId(message.channel_id)) {
        if (message.guild_id === undefined) catchUp.before(message.channel_id);
        later(message.channel_id, message.id, s, () => hearing.take(message));
      }
    } else if (t === "INTERACTION_CREATE") {
      const interaction = data as unknown as WireInteraction;
      if (isId(interaction.id) && isId(interaction.channel_id)) later(interaction.channel_id, interaction.id, s, () => hearing.used(interaction));
    } else if (t === "GUILD_CREATE") {
      const guild = data as unknown as WireGuild;
      if (isId(guild.id) && guild.unavailable !== true) {
        places.learn(guild);
        catchUp.guild(guild);
      }
    } else if (t === "GUILD_DELETE") {
      if (isId(data.id) && data.unavailable !== true) places.forgetGuild(data.id);
    } else if (/^(?:CHANNEL|THREAD)_(?:CREATE|UPDATE)$/.test(t)) places.learnPlace(data as unknown as WireChannel);
    else if (t === "CHANNEL_DELETE" || t === "THREAD_DELETE") places.forget(String(data.id));
    else if (t === "THREAD_LIST_SYNC" && Array.isArray(data.threads)) for (const thread of data.threads as readonly WireChannel[]) places.learnPlace(thread);
    else if (t === "READY") ready(data);
    position.reached(s);
  }

  /** The first words of a person are in a conversation that the platform tells of only when somebody writes there. */
  const people = config.dm === "block" ? [] : (config.allowFrom ?? []).filter(isId).slice(0, MOST_PEOPLE);

  function meet(): void {
    if (met) return;
    met = true;
    const done = position.reading();
    places
      .meet(people, signal)
      .then(() => catchUp.others())
      .then(done)
      .catch((error) => !signal.aborted && unkept(error));
  }

  function ready({ application }: Record<string, unknown>): void {
    catchUp.others();
    meet();
    const { id } = (application ?? {}) as { id?: unknown };
    interactions.register(isId(id) ? id : me.id, signal).catch((error) => {
      if (!signal.aborted) log.warn({ reason: reasonOf(error) }, "the command /ask could not be registered; it is tried again with the next session");
    });
  }

  const look = (): void => {
    again ??= setTimeout(() => {
      again = undefined;
      void catchUp.all();
    }, AGAIN_MS);
  };
  const gateway = createGateway({
    sockets: ctx.sockets,
    api,
    token: config.token ?? "",
    log,
    signal,
    take,
    began(session) {
      begun = true;
      catchUp.began();
      position.session(session);
    },
    resumed() {
      // Of the guilds this process knows nothing yet.
      if (!begun) void catchUp.all();
      begun = true;
      meet();
    },
    lost() {
      log.warn("events of the gateway were lost; what was written is looked for");
      if (again === undefined) void catchUp.all();
      look();
    },
    connected,
    away,
    refused,
  });

  /** A gateway can fall silent without ending: then the histories have what it does not tell. */
  const watch = setInterval(() => {
    if (performance.now() - gateway.heardAt < SILENCE_MS) return;
    const before = hearing.heard;
    void catchUp
      .all()
      .then(() => lines.idle())
      .then(() => hearing.heard > before && gateway.renew("it had not told of messages that were written"));
  }, LOOK_MS);
  watch.unref();

  const { left } = position;
  const age = left === undefined ? Number.POSITIVE_INFINITY : Date.now() - left.at;
  const from = left?.session !== undefined && age >= 0 && age < SESSION_MS ? { session: left.session, seq: left.seq } : undefined;
  try {
    await gateway.run(from);
  } finally {
    clearInterval(watch);
    clearTimeout(again);
    await lines.idle();
    await position.save();
  }
}
