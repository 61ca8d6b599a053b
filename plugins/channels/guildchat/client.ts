import { backoffMs, type Channel, type ChannelHandle, channelError, type PluginContext, reasonOf, sleep, standbyNote, whileHeld } from "@svc/sdk";
import { createApi } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import { listen } from "./listening.ts";
import { fetchFile } from "./media.ts";
import { createOutbound } from "./outbound.ts";
import { type Settings, whyDeaf } from "./settings.ts";
import { isId, type WireUser } from "./wire.ts";

/** Implementation of the channel's members once it has started. */
export interface Client extends Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "typing" | "fetchMedia" | "test">> {
  start(): void;
  stop(): Promise<void>;
}

const LONGEST_PAUSE_MS = 60_000;
const REFUSED_TOKEN = "the platform refuses the token; check channels.guildchat.token, or make a new one: svc connect guildchat";
const NO_CONTENT =
  "hears only mentions and direct messages: switch on the Message Content Intent at https://discord.com/developers/applications (Bot), and restart";
/** So many failures in a row are no short break any more. */
const AWAY = 3;

/** Makes the client; it connects with `start`. */
export function createClient(ctx: PluginContext<Settings>, handle: ChannelHandle): Client {
  const { config, log } = ctx;
  const ending = new AbortController();
  const signal = AbortSignal.any([ctx.signal, ending.signal]);
  const api = createApi(ctx, config.token ?? "", config.apiRoot);
  const outbound = createOutbound(api, (agent) => ctx.agents.get(agent ?? config.agentBinding ?? "")?.settings.richMessages !== false);
  let running: Promise<void> | undefined;
  let refused: string | undefined;

  const whoAmI = async (given: AbortSignal): Promise<WireUser> => {
    const me = await api.call<WireUser | null | undefined>({ path: "/users/@me", signal: given });
    if (!isId(me?.id) || typeof me.username !== "string") throw channelError("retry", "what answers in place of the platform does not say who this is");
    return me;
  };
  const ready = (...notes: readonly (string | undefined)[]): void => {
    const said = notes.filter((note) => note !== undefined).join("; ");
    handle.ready(said === "" ? undefined : said);
  };
  const refuse = (reason: string): void => {
    refused = reason;
    log.error(reason);
    handle.down(reason);
  };

  /** Asks until there is an answer, or until the token is refused. */
  async function identify(): Promise<WireUser | undefined> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await whoAmI(signal);
      } catch (error) {
        if (signal.aborted) break;
        if (answeredStatus(error) === 401) {
          refuse(REFUSED_TOKEN);
          break;
        }
        if (failures === 1) log.warn({ reason: reasonOf(error) }, "the platform was not reached; trying again");
        handle.down(reasonOf(error));
        const { retryAfterMs = 0 } = error as { retryAfterMs?: number };
        await sleep(Math.max(retryAfterMs, backoffMs(failures, { firstMs: 300, longestMs: LONGEST_PAUSE_MS })), signal);
      }
    }
    return undefined;
  }

  async function run(): Promise<void> {
    const me = await identify();
    if (me === undefined) return;
    // Two connections of one bot would both hear everything.
    await whileHeld(ctx.store, "gateway", { signal, standby: (node) => ready(standbyNote(node)), failed: (reason) => handle.down(reason) }, (own) =>
      connect(me, own),
    );
  }

  async function connect(me: WireUser, own: AbortSignal): Promise<void> {
    while (!own.aborted && refused === undefined) {
      try {
        await listen(ctx, {
          api,
          me,
          signal: own,
          connected: (content) => ready(whyDeaf(config), content ? undefined : NO_CONTENT),
          away(reason, failures) {
            if (failures === AWAY) log.warn({ reason }, "the gateway is away; trying again");
            if (failures >= AWAY) handle.down(reason);
          },
          refused: refuse,
        });
      } catch (error) {
        if (own.aborted) continue;
        log.error({ err: error }, "guildchat cannot listen; trying again");
        handle.down(reasonOf(error));
        await sleep(LONGEST_PAUSE_MS / 2, own);
      }
    }
  }

  const able = (): void => {
    if (refused !== undefined) throw channelError("retry", refused);
  };
  return {
    start() {
      running ??= run().catch((error) => {
        if (!signal.aborted) refuse(`guildchat ended: ${reasonOf(error)}`);
      });
    },
    async stop() {
      ending.abort(new Error("stopped"));
      await running;
    },
    async send(out, given) {
      able();
      return outbound.send(out, given);
    },
    edit: (platformId, out, given) => outbound.edit(platformId, out, given),
    remove: (target, platformId, given) => outbound.remove(target, platformId, given),
    react: (target, platformId, emoji, given) => outbound.react(target, platformId, emoji, given),
    typing: (target, given) => outbound.typing(target, given),
    fetchMedia: (media, given) => fetchFile(api, media, given),
    async test(given) {
      try {
        const { username } = await whoAmI(given);
        const listed = await api.call<unknown>({ path: "/users/@me/guilds", query: { limit: 200 }, signal: given });
        const guilds = Array.isArray(listed) ? listed.length : 0;
        return `@${username}, in ${guilds === 1 ? "one guild" : `${guilds} guilds`}`;
      } catch (error) {
        if (answeredStatus(error) === 401) throw channelError("permanent", REFUSED_TOKEN);
        throw error;
      }
    },
  };
}
