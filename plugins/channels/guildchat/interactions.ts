import { createHash } from "node:crypto";
import type { Collection } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { COMMAND } from "./map.ts";
import type { WireInteraction } from "./wire.ts";

/** Answers to buttons and commands, and the command itself. */
export interface Interactions {
  /** The platform knows `/ask`: told once, and again when it has changed. */
  register(application: string, signal: AbortSignal): Promise<void>;
  /** Accepted: a button shows nothing, a command the text, to its person alone. */
  taken(interaction: WireInteraction, words: string): void;
  /** Refused: shows the reason to this person alone. */
  refused(interaction: WireInteraction, words: string): void;
}

/** Shown to one person only. */
const EPHEMERAL = 64;
const ANSWER = 4;
const NOTHING = 6;
const MOST = 1_900;

const DEFINITION = {
  name: COMMAND,
  type: 1,
  description: "Ask the agent; its answer comes in this channel",
  options: [{ type: 3, name: "text", description: "What you want to know or have done", required: true, max_length: 4_000 }],
  // In guilds and in direct conversations with the bot.
  contexts: [0, 1],
  integration_types: [0],
};
const DIGEST = createHash("sha256").update(JSON.stringify(DEFINITION)).digest("base64url");

/** Makes them. The platform waits three seconds for an answer and forgets the question then: one try. */
export function createInteractions(api: Api, rows: Collection<{ readonly digest: string }>, signal: AbortSignal): Interactions {
  const answer = ({ id, token }: WireInteraction, body: object) =>
    void api.call({ method: "POST", path: `${at("interactions", id, token)}/callback`, body, signal, token: false }).catch(() => undefined);
  const say = (interaction: WireInteraction, words: string) =>
    answer(interaction, { type: ANSWER, data: { content: words.slice(0, MOST).toWellFormed(), flags: EPHEMERAL, allowed_mentions: { parse: [] } } });
  return {
    async register(application, until) {
      if ((await rows.get(application))?.value.digest === DIGEST) return;
      await api.call({ method: "POST", path: at("applications", application, "commands"), body: DEFINITION, signal: until });
      await rows.put(application, { digest: DIGEST });
    },
    taken: (interaction, words) => (interaction.type === 2 ? say(interaction, words) : answer(interaction, { type: NOTHING })),
    refused: say,
  };
}
