/** Service `speech`: texts spoken by this machine, one after the other. Nothing of it crosses to another machine. */
export interface Speech {
  /**
   * Puts a text at the end of what the machine says, in the agent's own manner of speaking. Resolves when it was said, or with why it was
   * not; rejects only when `signal` aborts, which also ends what is being said.
   */
  say(request: SpeechRequest): Promise<Spoken>;
  /** Whether this machine can speak now; `detail` is for an operator. Makes no sound. */
  usable(): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** A text that shall be said. */
export interface SpeechRequest {
  readonly text: string;
  /** The agent whose manner of speaking counts; unset: that of the machine. */
  readonly agent?: string;
  /**
   * `answer` and `scheduled`: an agent's answer to somebody, or of a job; said only where the agent's setting has such answers spoken.
   * `asked`: somebody asked to hear this; always said.
   */
  readonly kind: "answer" | "scheduled" | "asked";
  /** BCP 47, such as `de` or `en-GB`. */
  readonly language?: string;
  readonly signal?: AbortSignal;
}

/** What became of it. */
export type Spoken = { readonly said: true; readonly by: string } | { readonly said: false; readonly reason: string };

/** Service `transcription`: speech into words. */
export interface Transcription {
  /**
   * The words of a recording, empty for silence. Waits for its turn where the recogniser is busy. Throws `SVC_TRANSCRIPTION_OFF` where
   * nothing is configured that could, `SVC_TRANSCRIPTION_AUDIO` for a recording that it cannot read or that is too long, and
   * `SVC_TRANSCRIPTION_FAILED` when the recogniser is down or refuses; messages are for an operator.
   */
  transcribe(recording: Recording): Promise<Transcript>;
  /** Which recogniser would be asked, as far as the configuration and the disk say; asks none. */
  usable(settings?: TranscriptionSettings): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** Which recogniser is asked, in place of what the section `transcription` says. */
export interface TranscriptionSettings {
  readonly backend?: "auto" | "local" | "cloud";
  /** The local model's file. */
  readonly model?: string;
  /** A local program in place of the model's own library. */
  readonly binary?: string;
  /** BCP 47, or `auto`. */
  readonly language?: string;
}

/** What shall be transcribed. */
export interface Recording {
  /** Samples of 16 kHz mono, the bytes of a sound file, or the absolute path of one. */
  readonly audio: Int16Array | Uint8Array | string;
  /** MIME type of a file; its bytes decide. */
  readonly type?: string;
  readonly settings?: TranscriptionSettings;
  readonly signal?: AbortSignal;
}

/** The words of a recording. */
export interface Transcript {
  readonly text: string;
  readonly backend: "local" | "cloud";
  /** As the recogniser heard it. */
  readonly language?: string;
}
