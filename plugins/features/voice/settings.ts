import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";
import { NO_PROGRAM, speakingProgram } from "./programs.ts";

/** Voice settings: `agents.<id>.voice` (001:L77), and the same keys of the section `voice` for all agents. */
export interface Manner {
  readonly provider?: "system" | "cloud";
  readonly system?: string | Readonly<Record<string, string>>;
  readonly fallbacks?: readonly string[];
  readonly cloudVoiceId?: string;
  readonly gender?: "female" | "male" | "neutral";
  readonly style?: string;
  readonly intro?: string;
  readonly narrate?: "off" | "on" | "all";
}

/** The section `voice` of svc.json. */
export interface Settings extends Manner {
  readonly enabled?: boolean;
  /** Daemons of one machine whose speaker has the same name take turns. */
  readonly speaker?: string;
  readonly language?: string;
  readonly maxCharacters?: number;
  readonly notes?: boolean;
  readonly cloud?: { readonly url: string; readonly apiKey?: string; readonly model?: string };
}

const text = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });
const word = (description: string): Schema => text(description, { minLength: 1 });
const choice = (description: string, values: readonly string[]): Schema => text(description, { enum: values });

const MANNER: Readonly<Record<keyof Manner, Schema>> = {
  provider: choice("speech provider", ["system", "cloud"]),
  system: {
    anyOf: [
      { type: "string", minLength: 1 },
      { type: "object", additionalProperties: { type: "string" } },
    ],
    description: "voice of the operating system, the word system, or a map from language to voice",
  },
  fallbacks: { type: "array", items: { type: "string" }, description: "fallback voices" },
  cloudVoiceId: word("voice at the cloud provider"),
  gender: choice("voice gender", ["female", "male", "neutral"]),
  style: text("speaking style"),
  intro: text("spoken introduction"),
  narrate: choice("what is spoken; on is all but scheduled jobs", ["off", "on", "all"]),
};

/** `agents.<id>.voice`. */
export const AGENT: ObjectSchema = {
  type: "object",
  properties: { voice: { type: "object", description: "voice, in place of the global voice settings", properties: MANNER } },
};

/** The section `voice`. Its keys were never listed, so unknown ones are let through (CFG-20). */
export const SECTION: ObjectSchema = {
  type: "object",
  description: "how answers are spoken",
  additionalProperties: true,
  properties: {
    ...MANNER,
    enabled: { type: "boolean", default: true, description: "switch" },
    speaker: text("name of the speaker; daemons of one machine take turns at one of the same name", { pattern: "^[a-z0-9-]{1,32}$", default: "default" }),
    language: word("language of texts whose language is not told; default en"),
    maxCharacters: { type: "integer", minimum: 40, maximum: 20_000, default: 1_500, description: "longest text that is spoken; the rest is left out" },
    notes: { type: "boolean", default: true, description: "voice notes of chats are turned into words before the turn" },
    cloud: {
      type: "object",
      description: "server of the provider cloud",
      required: ["url"],
      properties: {
        url: { type: "string", format: "url", pattern: "^https?://", description: "server that answers POST /v1/audio/speech" },
        apiKey: { type: "string", minLength: 1, secret: true, description: "its key, as an environment reference" },
        model: word("model at the server; default tts-1"),
      },
    },
  },
};

/** An agent's manner of speaking: its own keys go before those of all. */
export function mannerOf(settings: Settings, own: unknown): Manner {
  return { ...settings, ...(typeof own === "object" && own !== null ? (own as Manner) : {}) };
}

/** Whether an answer is spoken. */
export function isNarrated({ narrate = "off" }: Manner, isScheduled: boolean): boolean {
  return narrate === "all" || (narrate === "on" && !isScheduled);
}

/** Checks that the schema of an agent cannot express. */
export function checkAgent(agent: Readonly<Record<string, unknown>>, section: Settings | undefined): readonly SectionProblem[] {
  const own = agent["voice"] as Manner | undefined;
  if (own === undefined || own === null || typeof own !== "object") return [];
  if (section === undefined) return isNarrated(own, false) ? [{ path: "voice.narrate", message: "has no effect: add a section voice, {} is enough" }] : [];
  if (own.provider === "cloud" && section.cloud === undefined) return [{ path: "voice.provider", message: "is cloud: set cloud.url of the section voice" }];
  return isNarrated(own, false) && speakingProgram() === undefined ? [{ path: "voice.narrate", message: `has no effect: ${NO_PROGRAM}` }] : [];
}
