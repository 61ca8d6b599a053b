import { definePlugin, type Lifecycle } from "@svc/sdk";
import { NO_PROGRAM, speakingProgram } from "./programs.ts";
import { AGENT, checkAgent, isNarrated, mannerOf, SECTION, type Settings } from "./settings.ts";
import type { createSpeech } from "./speech.ts";
import type { NoteRow } from "./voice-notes.ts";

/** Kept so long for a turn that is begun once more. */
const KEEP_MS = 7 * 86_400_000;
const SWEEP = 200;

/** Agents that are heard, and voice notes that are read (001:L77). Nothing of it leaves the machine (MESH-05): it tells no events. */
export default definePlugin<Settings>({
  kind: "feature",
  name: "voice",
  version: "0.1.0",
  svc: "^0.1.0",
  config: {
    at: "voice",
    schema: SECTION,
    check: ({ provider, cloud, ...manner }) => [
      ...(isNarrated(manner, false) && speakingProgram() === undefined ? [{ path: "narrate", message: `has no effect: ${NO_PROGRAM}` }] : []),
      ...(provider === "cloud" && cloud === undefined ? [{ path: "provider", message: "is cloud: set cloud.url" }] : []),
    ],
  },
  agentConfig: AGENT,
  checkAgent,
  capabilities: ["agents", "fetch", "services", "spawn", "store", "transcription"],
  setup(ctx): Lifecycle<Settings> {
    let settings = ctx.config;
    let made: Promise<ReturnType<typeof createSpeech>> | undefined;
    const manner = (agent: string) => ctx.agents.get(agent)?.settings["voice"];
    const speech = () => {
      made ??= import("./speech.js").then((part) =>
        part.createSpeech({ settings: () => settings, manner, spawn: ctx.spawn, fetch: ctx.fetch, log: ctx.log, signal: ctx.signal }),
      );
      return made;
    };
    ctx.provide.service("speech", {
      say: async (request) => (await speech()).say(request),
      usable: async () => (await speech()).usable(),
    });
    const rows = () => ctx.store.collection<NoteRow>("notes", { indexes: ["at"] });
    const sweep = async () => {
      const old = await rows().list({ by: "at", to: Date.now() - KEEP_MS, limit: SWEEP });
      await Promise.all(old.map(({ key }) => rows().delete(key)));
    };
    ctx.hooks.assembleContext.tap(
      (context, turn, call) => {
        const isScheduled = turn.messages.some(({ options }) => options?.scheduled === true);
        if (isNarrated(mannerOf(settings, manner(turn.agent.id)), isScheduled)) {
          void turn.ended.then(async ({ answer, replaced }) => {
            if (replaced || answer === undefined || answer === "") return;
            const kind = isScheduled ? "scheduled" : "answer";
            await (await speech()).say({ agent: turn.agent.id, text: answer, kind });
          });
        }
        const hasNotes = turn.messages.some(({ media }) => media?.some(({ kind, path }) => kind === "audio" && path !== undefined));
        if (settings.notes === false || !hasNotes) return context;
        return import("./voice-notes.js").then(async ({ withNotes }) => {
          const made = await withNotes(context, turn, { rows: rows(), transcription: () => ctx.services.get("transcription"), log: ctx.log }, call.signal);
          void sweep().catch((error) => ctx.log.warn({ err: error }, "old voice notes were not swept"));
          return made;
        });
      },
      { phase: "session", step: "voice notes" },
    );
    return {
      async reload(next) {
        settings = next;
      },
      async stop() {
        await (await made)?.stop();
      },
    };
  },
});
