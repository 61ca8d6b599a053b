import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GuardedFetch, type Log, reasonOf, type Spawn, type Speech, type SpeechRequest, type Spoken } from "@svc/sdk";
import { isInstalled, NO_PROGRAM, PLAYING, speakingProgram } from "./programs.ts";
import { isNarrated, type Manner, mannerOf, type Settings } from "./settings.ts";
import { takeSpeaker } from "./speaker-lock.ts";
import { spokenText } from "./spoken-text.ts";

/** Texts that wait here; what comes on top is refused. */
const MOST_WAITING = 50;
const LONGEST_MS = 5 * 60_000;
const LARGEST_SOUND = 50 * 1_048_576;

/** Dependencies of speech. */
export interface SpeechDeps {
  settings(): Settings;
  /** `agents.<id>.voice`. */
  manner(agent: string): unknown;
  readonly spawn: Spawn;
  readonly fetch: GuardedFetch;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The service: one text after the other, also beside other daemons of the machine. */
export function createSpeech({ settings, manner, spawn, fetch, log, signal }: SpeechDeps): Speech & { stop(): Promise<void> } {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let lastAgent: string | undefined;

  async function run(command: string, args: readonly string[], stdin: string | undefined, cwd: string, ends: AbortSignal): Promise<string | undefined> {
    const child = spawn(command, args, { cwd, stdin: stdin ?? "ignore", signal: ends, timeoutMs: LONGEST_MS });
    try {
      await child.started;
    } catch (error) {
      return reasonOf(error);
    }
    const { code, stderr, reason } = await child.ended;
    if (code === 0) return undefined;
    return `${command} ended with ${reason ?? `code ${code}`}${stderr.trim() === "" ? "" : `: ${stderr.trim().split("\n")[0]?.slice(0, 160)}`}`;
  }

  async function bySystem(text: string, how: Manner, language: string, ends: AbortSignal): Promise<Spoken> {
    const program = speakingProgram();
    if (program === undefined) return { said: false, reason: NO_PROGRAM };
    const named = typeof how.system === "object" ? voiceIn(how.system, language) : how.system;
    const first = named === undefined || named === "system" ? program.voiceFor(language, how.gender) : named;
    const voices = [first, ...(how.fallbacks ?? []), undefined].filter((voice, at, all) => all.indexOf(voice) === at && voice?.startsWith("-") !== true);
    let trouble = "";
    for (const voice of voices) {
      const failed = await run(program.name, program.arguments(voice === "system" ? undefined : voice), text, tmpdir(), ends);
      if (failed === undefined) return { said: true, by: voice === undefined ? program.name : `${program.name} as ${voice}` };
      if (ends.aborted) break;
      trouble = failed;
    }
    return { said: false, reason: trouble };
  }

  async function byCloud(text: string, how: Manner, ends: AbortSignal): Promise<Spoken> {
    const { cloud } = settings();
    if (cloud === undefined) return { said: false, reason: "the provider is cloud, and no cloud.url of voice is set" };
    const player = PLAYING.find(({ name }) => isInstalled(name));
    if (player === undefined)
      return { said: false, reason: `no program on this machine plays sound: install one of ${PLAYING.map(({ name }) => name).join(", ")}` };
    const address = `${cloud.url.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1/audio/speech`;
    const answer = await fetch(address, {
      ...{ method: "POST", signal: ends, timeoutMs: 60_000, maxBytes: LARGEST_SOUND, maxRedirects: 0, trustedOrigins: [new URL(address).origin] },
      headers: { "content-type": "application/json", ...(cloud.apiKey === undefined ? {} : { authorization: `Bearer ${cloud.apiKey}` }) },
      body: JSON.stringify({
        ...{ model: cloud.model ?? "tts-1", input: text, voice: how.cloudVoiceId ?? "alloy", response_format: "wav" },
        ...(how.style === undefined ? {} : { instructions: how.style }),
      }),
    });
    if (answer.status !== 200) return { said: false, reason: `${new URL(address).host} answered ${answer.status}` };
    const folder = await mkdtemp(join(tmpdir(), "svc-voice-"));
    try {
      await writeFile(join(folder, "said.wav"), answer.body, { mode: 0o600 });
      const failed = await run(player.name, [...player.before, "said.wav"], undefined, folder, ends);
      return failed === undefined ? { said: true, by: `${new URL(address).host} and ${player.name}` } : { said: false, reason: failed };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async function speak(text: string, { agent, language: told }: SpeechRequest, how: Manner, ends: AbortSignal): Promise<Spoken> {
    const { language = "en", speaker = "default" } = settings();
    const release = await takeSpeaker(speaker, ends);
    try {
      const words = how.intro !== undefined && how.intro !== "" && agent !== lastAgent ? `${how.intro} ${text}` : text;
      lastAgent = agent;
      if (how.provider !== "cloud") return await bySystem(words, how, told ?? language, ends);
      const said = await byCloud(words, how, ends).catch((error): Spoken => ({ said: false, reason: reasonOf(error) }));
      if (said.said || ends.aborted) return said;
      const instead = await bySystem(words, how, told ?? language, ends);
      return instead.said ? instead : said;
    } finally {
      await release();
    }
  }

  async function say(request: SpeechRequest): Promise<Spoken> {
    request.signal?.throwIfAborted();
    const how = mannerOf(settings(), request.agent === undefined ? undefined : manner(request.agent));
    if (request.kind !== "asked" && !isNarrated(how, request.kind === "scheduled")) return { said: false, reason: "narrate of voice says no" };
    const text = spokenText(request.text, settings().maxCharacters ?? 1_500);
    if (text === "") return { said: false, reason: "there are no words to say" };
    if (waiting >= MOST_WAITING) return { said: false, reason: `${MOST_WAITING} texts wait to be said already` };
    waiting += 1;
    const ends = AbortSignal.any([signal, ...(request.signal === undefined ? [] : [request.signal])]);
    const turn = last
      .then(() => speak(text, request, how, ends))
      .catch((error): Spoken => ({ said: false, reason: reasonOf(error) }))
      .finally(() => {
        waiting -= 1;
      });
    last = turn;
    const said = await turn;
    request.signal?.throwIfAborted();
    if (!said.said && !signal.aborted) log.warn({ agent: request.agent, reason: said.reason }, "a text was not spoken");
    return said;
  }

  return {
    say,
    async usable() {
      const program = speakingProgram();
      return program === undefined ? { ok: false, detail: NO_PROGRAM } : { ok: true, detail: `${program.name} speaks` };
    },
    async stop() {
      await last;
    },
  };
}

/** `de-AT` is served by a voice of `de-AT`, else by one of `de`. */
function voiceIn(voices: Readonly<Record<string, string>>, language: string): string | undefined {
  const plain = language.toLowerCase();
  const found =
    Object.entries(voices).find(([key]) => key.toLowerCase() === plain) ?? Object.entries(voices).find(([key]) => key.toLowerCase() === plain.split("-")[0]);
  return found?.[1];
}
