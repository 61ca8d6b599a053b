import { codeOf, type Log, reasonOf, type Said, type Transcription, type TranscriptionSettings } from "@svc/sdk";

/** Speech that waits for the recogniser, of one call: some 10 MB. What comes on top is named as lost. */
const MOST_WAITING_MS = 300_000;

interface Waiting {
  readonly atMs: number;
  readonly durationMs: number;
  readonly samples: Int16Array;
}

/** Dependencies of a scribe. */
export interface ScribeDeps {
  transcription(): Transcription | undefined;
  settings(): TranscriptionSettings;
  readonly log: Log;
  say(said: Said): void;
}

/** Has the speech of one call written down, in order, one stretch after the other. */
export class Scribe {
  readonly #deps: ScribeDeps;
  readonly #queue: Waiting[] = [];
  readonly #abort = new AbortController();
  #waitingMs = 0;
  #running: Promise<void> | undefined;
  #isOff = false;

  constructor(deps: ScribeDeps) {
    this.#deps = deps;
  }

  get waitingMs(): number {
    return this.#waitingMs;
  }

  hear(atMs: number, durationMs: number, samples: Int16Array): void {
    if (this.#isOff) return;
    if (this.#waitingMs + durationMs > MOST_WAITING_MS) {
      this.#lost(atMs, durationMs, `the recogniser is too slow: ${Math.round(this.#waitingMs / 60_000)} minutes of this call wait for it`);
      return;
    }
    this.#queue.push({ atMs, durationMs, samples });
    this.#waitingMs += durationMs;
    this.#running ??= this.#work();
  }

  /** Resolves when everything is transcribed; the rest is then reported as lost. */
  async close(lingerMs: number): Promise<void> {
    if (this.#running === undefined) return;
    const timer = setTimeout(() => this.#abort.abort(new Error("the call has ended before the recogniser answered")), lingerMs);
    try {
      await this.#running;
    } finally {
      clearTimeout(timer);
    }
  }

  async #work(): Promise<void> {
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      await this.#write(next);
      this.#queue.shift();
      this.#waitingMs -= next.durationMs;
    }
    this.#running = undefined;
  }

  async #write({ atMs, durationMs, samples }: Waiting): Promise<void> {
    try {
      this.#abort.signal.throwIfAborted();
      const transcription = this.#deps.transcription();
      if (transcription === undefined) throw Object.assign(new Error("no plugin turns speech into words here"), { code: "SVC_TRANSCRIPTION_OFF" });
      const { text } = await transcription.transcribe({ audio: samples, settings: this.#deps.settings(), signal: this.#abort.signal });
      if (text !== "") this.#deps.say({ atMs, durationMs, text });
    } catch (error) {
      // Told once: it will be so for the whole call.
      this.#isOff = codeOf(error) === "SVC_TRANSCRIPTION_OFF";
      this.#lost(atMs, durationMs, this.#abort.signal.aborted ? reasonOf(this.#abort.signal.reason) : reasonOf(error));
      if (this.#isOff) this.#queue.length = 1;
    }
  }

  #lost(atMs: number, durationMs: number, reason: string): void {
    this.#deps.log.warn({ atMs, durationMs, reason }, "speech of a call was not written down");
    this.#deps.say({ atMs, durationMs, text: `(${Math.max(1, Math.round(durationMs / 1000))} s of speech were not written down: ${reason})`, lost: true });
  }
}
