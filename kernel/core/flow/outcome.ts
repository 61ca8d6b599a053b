import type { Usage } from "@svc/sdk";

/** How a turn ended, before it is stored. */
export interface Outcome {
  readonly status: "ok" | "error" | "timeout";
  readonly reply: string;
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  readonly usage?: Usage;
  readonly model?: string;
  readonly sessionId?: string;
  /** The engine's session is of no more use. */
  readonly sessionLost?: true;
  readonly autonomyBlocks?: readonly { readonly tool: string; readonly reason: string }[];
  readonly guard?: { readonly level: "wall" | "narrow"; readonly reason?: string };
}

/** The reason on an aborted turn's signal. */
export interface Ending {
  readonly kind: "cancelled" | "timeout" | "interrupted";
  readonly text: string;
}
