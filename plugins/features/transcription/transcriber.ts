import { access } from "node:fs/promises";
import type { GuardedFetch, Recording, Spawn, Transcript, Transcription, TranscriptionSettings } from "@svc/sdk";
import { askServer } from "./cloud.ts";
import { createLocalModel } from "./local.ts";
import { fail, type Settings } from "./settings.ts";
import { soundFileOf } from "./sound-file.ts";

/** Recordings at a server at once; a local model has one. */
const AT_ONCE = { local: 1, cloud: 4 } as const;

/** Dependencies of a transcriber. */
export interface TranscriberDeps {
  settings(): Settings;
  readonly fetch: GuardedFetch;
  readonly spawn: Spawn;
}

type Chosen =
  | { readonly backend: "local"; readonly model: string; readonly binary?: string }
  | { readonly backend: "cloud"; readonly server: NonNullable<Settings["server"]> };

/** The service, and its end. */
export function createTranscriber({ settings, fetch, spawn }: TranscriberDeps): Transcription & { stop(): Promise<void> } {
  const local = createLocalModel(spawn);
  const places = { local: createPlaces(AT_ONCE.local), cloud: createPlaces(AT_ONCE.cloud) };

  async function choose(asked: TranscriptionSettings = {}): Promise<Chosen> {
    const { server, ...own } = settings();
    const backend = asked.backend === undefined || asked.backend === "auto" ? (own.backend ?? "auto") : asked.backend;
    const model = asked.model ?? own.model;
    const binary = asked.binary ?? own.binary;
    const missing = backend === "cloud" ? "the backend is cloud" : await missingOf(model, binary);
    if (missing === undefined && model !== undefined) return { backend: "local", model, ...(binary === undefined ? {} : { binary }) };
    if (backend !== "local" && server !== undefined) return { backend: "cloud", server };
    const next =
      backend === "cloud" ? "set server.url of transcription" : "set model of transcription to the file of a whisper.cpp model, or server.url to a server";
    throw fail("SVC_TRANSCRIPTION_OFF", {
      why: backend === "cloud" ? "the backend is cloud, and no server is set" : `${missing}${backend === "local" ? "" : ", and no server is set"}`,
      next,
    });
  }

  async function transcribe({ audio, settings: asked, signal }: Recording): Promise<Transcript> {
    const chosen = await choose(asked);
    const { maxMinutes = 20, threads = 2, language: ownLanguage = "auto" } = settings();
    const language = asked?.language === undefined || asked.language === "auto" ? ownLanguage : asked.language;
    const leave = await places[chosen.backend].enter(signal);
    try {
      const sound = await soundFileOf(audio, maxMinutes, spawn, signal);
      const said =
        chosen.backend === "cloud"
          ? await askServer(chosen.server, sound, language, fetch, signal)
          : await local.transcribe(sound, { ...chosen, language, threads }, signal);
      return { ...said, backend: chosen.backend };
    } finally {
      leave();
    }
  }

  return {
    transcribe,
    async usable(asked) {
      try {
        const chosen = await choose(asked);
        return { ok: true, detail: chosen.backend === "local" ? `the model ${chosen.model}` : `the server ${new URL(chosen.server.url).host}` };
      } catch (error) {
        return { ok: false, detail: (error as Error).message };
      }
    },
    stop: local.stop,
  };
}

async function missingOf(model: string | undefined, binary: string | undefined): Promise<string | undefined> {
  if (model === undefined) return "no model is set";
  // A program may know its model by a name.
  if (binary !== undefined) return undefined;
  return access(model).then(
    () => undefined,
    () => `the model ${model} is not there`,
  );
}

/** So many at once, the others in their order. */
function createPlaces(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return {
    async enter(signal: AbortSignal | undefined): Promise<() => void> {
      signal?.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return leave;
      }
      await new Promise<void>((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        };
        const abort = () => {
          waiting.splice(waiting.indexOf(enter), 1);
          reject(signal?.reason);
        };
        waiting.push(enter);
        signal?.addEventListener("abort", abort, { once: true });
      });
      return leave;
    },
  };
}
