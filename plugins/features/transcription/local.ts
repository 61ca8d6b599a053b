import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Child, reasonOf, type Spawn } from "@svc/sdk";
import { fail } from "./settings.ts";
import type { SoundFile } from "./sound-file.ts";

/** The model stays loaded so long after its last recording. */
const IDLE_MS = 60_000;
/** For the longest recording on a slow machine. */
const ANSWER_MS = 30 * 60_000;
const PROGRAM = fileURLToPath(new URL("./whisper-program.js", import.meta.url));

/** Options of the local model. */
export interface LocalSettings {
  readonly model: string;
  readonly binary?: string;
  readonly language: string;
  readonly threads: number;
}

/** The model on this machine, in a process of its own: native code that breaks down takes only that process. */
export interface LocalModel {
  /** One recording at a time. Throws `SVC_TRANSCRIPTION_FAILED`. */
  transcribe(sound: SoundFile, settings: LocalSettings, signal: AbortSignal | undefined): Promise<{ readonly text: string; readonly language?: string }>;
  stop(): Promise<void>;
}

interface Asked {
  readonly resolve: (answer: { readonly text: string; readonly language?: string }) => void;
  readonly reject: (error: Error) => void;
}

/** Nothing runs before the first recording. */
export function createLocalModel(spawn: Spawn): LocalModel {
  let child: Child | undefined;
  let asked: Asked | undefined;
  let idle: NodeJS.Timeout | undefined;
  const broken = (why: string) => fail("SVC_TRANSCRIPTION_FAILED", { who: "the local model", why });

  function start(): Child {
    const made = spawn(process.execPath, [PROGRAM], {
      ...{ cwd: tmpdir(), stdin: "pipe" },
      onLine(line) {
        if (!line.startsWith("{")) return;
        const { error, ...answer } = JSON.parse(line) as { text: string; language?: string; error?: string };
        if (error === undefined) asked?.resolve(answer);
        else asked?.reject(broken(error));
      },
    });
    made.started.catch(() => {});
    void made.ended.then(({ code, signal, stderr }) => {
      if (child !== made) return;
      child = undefined;
      asked?.reject(
        broken(`its process ended with ${signal ?? `code ${code}`}${stderr.trim() === "" ? "" : `: ${stderr.trim().split("\n").at(-1)?.slice(0, 200)}`}`),
      );
    });
    return made;
  }

  async function stop(): Promise<void> {
    clearTimeout(idle);
    const dying = child;
    child = undefined;
    asked?.reject(broken("it was stopped"));
    await dying?.stop();
  }

  async function byLibrary(file: string, { model, language, threads }: LocalSettings, signal: AbortSignal | undefined) {
    clearTimeout(idle);
    child ??= start();
    const running = child;
    // A recogniser has no brake: ending its process is the only way to end its work.
    const abort = () => void stop();
    const timer = setTimeout(abort, ANSWER_MS);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await new Promise<{ readonly text: string; readonly language?: string }>((resolve, reject) => {
        asked = { resolve, reject };
        running.started.then(() => running.write(`${JSON.stringify({ file, model, language, threads })}\n`)).catch((error) => reject(broken(reasonOf(error))));
      });
    } finally {
      asked = undefined;
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      idle = setTimeout(() => void stop(), IDLE_MS);
      idle.unref();
    }
  }

  /** As `mlx_whisper` is called: it writes `<name>.txt` into the folder. */
  async function byProgram(folder: string, { binary = "", model, language }: LocalSettings, signal: AbortSignal | undefined) {
    const args = ["speech.wav", "--model", model, "--output-format", "txt", "--output-dir", ".", "--output-name", "speech"];
    if (language !== "auto") args.push("--language", language);
    const run = spawn(binary, args, { cwd: folder, stdin: "ignore", timeoutMs: ANSWER_MS, ...(signal === undefined ? {} : { signal }) });
    await run.started.catch((error) => {
      throw broken(reasonOf(error));
    });
    const { code, stderr, reason } = await run.ended;
    if (code !== 0) throw broken(`${binary} ended with code ${code}: ${reason ?? stderr.trim().slice(-200)}`);
    const text = await readFile(join(folder, "speech.txt"), "utf8").catch(() => {
      throw broken(`${binary} wrote no speech.txt`);
    });
    return { text: text.replace(/\s+/g, " ").trim() };
  }

  return {
    async transcribe(sound, settings, signal) {
      if (!sound.isPlain)
        throw fail("SVC_TRANSCRIPTION_AUDIO", { why: "the local model takes plain sound only: install ffmpeg, which makes it of any recording" });
      const folder = await mkdtemp(join(tmpdir(), "svc-speech-"));
      try {
        await writeFile(join(folder, "speech.wav"), sound.data, { mode: 0o600 });
        return await (settings.binary === undefined ? byLibrary(join(folder, "speech.wav"), settings, signal) : byProgram(folder, settings, signal));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    stop,
  };
}
