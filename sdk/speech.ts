/** Service `speech`: texts spoken by this machine, one after the other. No audio leaves the machine. */
export interface Speech {
  /**
   * Appends a text to the speech queue of the machine, with the settings of the agent. Resolves when it was spoken, or with the reason why it was
   * not; rejects only when `signal` aborts, which also stops the speech.
   */
  say(request: SpeechRequest): Promise<Spoken>;
  /** Whether this machine can speak now; `detail` is for an operator. Makes no sound. */
  usable(): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** A text that shall be said. */
export interface SpeechRequest {
  readonly text: string;
  /** The agent whose speech settings apply; unset: those of the machine. */
  readonly agent?: string;
  /**
   * `answer` and `scheduled`: an agent's answer to a person, or of a job; spoken only if the agent's setting enables it. `asked`: a person requested
   * it; always spoken.
   */
  readonly kind: "answer" | "scheduled" | "asked";
  /** BCP 47, such as `de` or `en-GB`. */
  readonly language?: string;
  readonly signal?: AbortSignal;
}

/** Result of a request to speak. */
export type Spoken = { readonly said: true; readonly by: string } | { readonly said: false; readonly reason: string };

/** Service `transcription`: speech into words. */
export interface Transcription {
  /**
   * Transcribes a recording; empty for silence. Queued while the recogniser is busy. Throws `SVC_TRANSCRIPTION_OFF` without a configured recogniser,
   * `SVC_TRANSCRIPTION_AUDIO` for an unreadable or too long recording, and `SVC_TRANSCRIPTION_FAILED` when the recogniser is down or refuses;
   * messages are for an operator.
   */
  transcribe(recording: Recording): Promise<Transcript>;
  /** Which recogniser would be used, judging by configuration and disk; calls none. */
  usable(settings?: TranscriptionSettings): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** Overrides of the section `transcription`: the recogniser to use. */
export interface TranscriptionSettings {
  readonly backend?: "auto" | "local" | "cloud";
  /** The local model's file. */
  readonly model?: string;
  /** A local program in place of the model's own library. */
  readonly binary?: string;
  /** BCP 47, or `auto`. */
  readonly language?: string;
}

/** A recording to transcribe. */
export interface Recording {
  /** Samples of 16 kHz mono, the bytes of a sound file, or the absolute path of one. */
  readonly audio: Int16Array | Uint8Array | string;
  /** MIME type of a file; its bytes decide. */
  readonly type?: string;
  readonly settings?: TranscriptionSettings;
  readonly signal?: AbortSignal;
}

/** Transcript of a recording. */
export interface Transcript {
  readonly text: string;
  readonly backend: "local" | "cloud";
  /** Language that the recogniser detected. */
  readonly language?: string;
}
