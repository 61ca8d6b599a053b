import { errorTable, type ObjectSchema } from "@svc/sdk";

/** The section `transcription` of svc.json. */
export interface Settings {
  readonly backend?: "auto" | "local" | "cloud";
  readonly model?: string;
  readonly binary?: string;
  readonly language?: string;
  readonly threads?: number;
  readonly maxMinutes?: number;
  readonly server?: { readonly url: string; readonly apiKey?: string; readonly model?: string };
}

/** All keys are optional. Without a model and a server nothing is transcribed, and the error says so. */
export const schema: ObjectSchema = {
  type: "object",
  description: "how speech becomes text",
  properties: {
    backend: {
      type: "string",
      enum: ["auto", "local", "cloud"],
      default: "auto",
      description: "auto: the local model where its file is there, else the server",
    },
    model: { type: "string", minLength: 1, description: "file of a whisper.cpp model (ggml-*.bin), absolute" },
    binary: { type: "string", minLength: 1, description: "program in place of the model's library, called as mlx_whisper is" },
    language: { type: "string", minLength: 2, default: "auto", description: "language of what is said, such as en, or auto" },
    threads: { type: "integer", minimum: 1, maximum: 64, default: 2, description: "processors that the local model may use" },
    maxMinutes: { type: "integer", minimum: 1, maximum: 240, default: 20, description: "longest recording that is taken" },
    server: {
      type: "object",
      required: ["url"],
      properties: {
        url: { type: "string", format: "url", pattern: "^https?://", description: "server that answers POST /v1/audio/transcriptions" },
        apiKey: { type: "string", minLength: 1, secret: true, description: "its key, as an environment reference" },
        model: { type: "string", minLength: 1, default: "whisper-1", description: "model at the server" },
      },
    },
  },
};

/** The errors of this plugin. */
export const fail = errorTable({
  SVC_TRANSCRIPTION_OFF: [503, "nothing turns speech into words: {why}; next: {next}"],
  SVC_TRANSCRIPTION_AUDIO: [400, "the recording was not taken: {why}"],
  SVC_TRANSCRIPTION_FAILED: [502, "{who} did not turn speech into words: {why}"],
});
