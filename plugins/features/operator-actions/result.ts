import type { Schema } from "@svc/sdk";

/** Result of a run (000:L98-112). A failing command and a status of 400 are results, not exceptions. */
export interface ActionRunResult {
  readonly ok: boolean;
  /** The exit code or the HTTP status; null when there was none: killed, timed out, not reached. */
  readonly status: number | null;
  /** Standard output or the body, at most 32 KiB. */
  readonly output: string;
  /** Standard error, at most 32 KiB, and why svc ended the run. */
  readonly errors: string;
  readonly durationMs: number;
  /** There when output was thrown away. */
  readonly truncated?: true;
}

/** The output schema of every operator action. */
export const RESULT: Schema = {
  type: "object",
  properties: {
    ok: { type: "boolean" },
    status: { type: ["integer", "null"], description: "The exit code or HTTP status." },
    output: { type: "string", description: "At most 32 KiB." },
    errors: { type: "string", description: "At most 32 KiB." },
    durationMs: { type: "number" },
    truncated: { type: "boolean", description: "There when output was thrown away." },
  },
  required: ["ok", "status", "output", "errors", "durationMs"],
  additionalProperties: false,
};
