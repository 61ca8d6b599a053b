import { keepTrying, type PluginContext, reasonOf } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { BOT_ANSWERS, type BotTalk } from "./bot-talk.ts";
import type { Interactions } from "./interactions.ts";
import { type Around, type Heard, heardOf, usedOf } from "./map.ts";
import type { Place, Places } from "./places.ts";
import { agentMeant, whyNot } from "./policy.ts";
import type { Settings } from "./settings.ts";
import type { WireInteraction, WireMessage, WireUser } from "./wire.ts";

/** Dependencies of checking and submitting messages. */
export interface HearingDeps {
  readonly ctx: Pick<PluginContext<Settings>, "agents" | "config" | "events" | "log" | "tasks">;
  readonly api: Api;
  readonly me: WireUser;
  readonly places: Places;
  readonly botTalk: BotTalk;
  readonly interactions: Interactions;
  readonly signal: AbortSignal;
}

/** Handles messages, buttons and commands of people. */
export interface Hearing {
  /** Resolves when the message is kept or rightly dropped; rejects only at the end of the plugin. */
  take(post: WireMessage): Promise<void>;
  used(interaction: WireInteraction): Promise<void>;
  /** Messages that were not known before, so far. */
  readonly heard: number;
}

const REMEMBERED = 2_000;
const NOT_YOURS = "You cannot answer this here.";
const QUOTED = 300;

/** Makes it. */
export function createHearing({ ctx, api, me, places, botTalk, interactions, signal }: HearingDeps): Hearing {
  const { config, log } = ctx;
  const bound = config.agentBinding ?? "";
  /** Recently handled events: live, from a history, or delivered twice. */
  const seen = new Set<string>();
  let heardSoFar = 0;

  const around = (place: Place): Around => {
    const guildName = place.guild === undefined ? undefined : places.guildName(place.guild);
    const role = place.guild === undefined ? undefined : places.role(place.guild);
    return { me, place, ...(guildName === undefined ? {} : { guildName }), ...(role === undefined ? {} : { role }) };
  };
  const remember = (id: string): void => {
    seen.add(id);
    if (seen.size > REMEMBERED) seen.delete(seen.values().next().value as string);
  };

  /** Hands it over. Answers why that was not done, for its sender to read. */
  async function handOver(heard: Heard): Promise<string | undefined> {
    const agent = agentMeant(heard, bound, ctx.agents.list());
    // Naming an agent that answers here addresses this bot.
    const meant = { ...heard, addressed: heard.addressed || agent !== bound };
    const reason = (await whyNot(meant, config, () => rolesOf(heard))) ?? (await tooMuch(heard));
    if (reason !== undefined) {
      drop(heard, reason);
      return NOT_YOURS;
    }
    const refusal = await keepTrying(() => accept({ ...heard.message, agent }), {
      signal,
      failed: (error, failures) => {
        if (failures === 1) log.error({ message: heard.message.platformId, err: error }, "a message could not be kept; it is tried again until it is");
      },
    });
    if (refusal === undefined) return undefined;
    drop(heard, refusal);
    return heard.message.choice === undefined ? "This was not taken." : refusal;
  }

  /** Submits a message. One that the kernel will never accept must not block later ones: resolves with the reason, and is not retried. */
  async function accept(message: Heard["message"]): Promise<string | undefined> {
    try {
      await ctx.tasks.accept(message);
      return undefined;
    } catch (error) {
      const { status = 500 } = error as { status?: number };
      if (status < 400 || status >= 500) throw error;
      return reasonOf(error);
    }
  }

  async function tooMuch({ bot, message }: Heard): Promise<string | undefined> {
    if (!bot || (await botTalk.may(message.thread ?? message.chat, message.sender?.id ?? "", message.dedupKey ?? ""))) return undefined;
    return `this bot was answered ${BOT_ANSWERS} times here within ten minutes`;
  }

  async function rolesOf({ guild, message }: Heard): Promise<readonly string[]> {
    if (guild === undefined || message.sender === undefined) return [];
    try {
      const member = await api.call<{ roles?: readonly string[] }>({ path: at("guilds", guild, "members", message.sender.id), signal });
      return member.roles ?? [];
    } catch {
      return [];
    }
  }

  /** CHAN-08: each message that is not handed over is told of once. */
  function drop({ message }: Heard, reason: string): void {
    const { platformId } = message;
    ctx.events.root(() =>
      ctx.events.publish({
        kind: "message",
        type: "message:dropped",
        agentId: bound,
        summary: `guildchat message dropped: ${reason}`,
        ...(platformId === undefined ? {} : { ref: platformId }),
        data: { channel: "guildchat", reason },
      }),
    );
  }

  return {
    get heard() {
      return heardSoFar;
    },
    async take(post) {
      if (seen.has(post.id)) return;
      const place = await places.resolve(post.channel_id, post.guild_id, signal);
      const heard = heardOf(post, around(place));
      if (heard !== undefined) {
        await handOver(heard);
        heardSoFar += 1;
        places.heard(place, heard.message.sender?.id);
      }
      remember(post.id);
    },
    async used(interaction) {
      if (seen.has(interaction.id)) return;
      const place = await places.resolve(interaction.channel_id ?? "", interaction.guild_id, signal);
      const heard = usedOf(interaction, around(place));
      if (heard === undefined) return;
      const refusal = await handOver(heard);
      remember(interaction.id);
      if (refusal === undefined)
        interactions.taken(interaction, `You asked: ${heard.message.text.slice(0, QUOTED).toWellFormed()}\nThe answer comes in this channel.`);
      else interactions.refused(interaction, refusal);
    },
  };
}
