import type { ModelCall, ModelEvent, ModelReply, Usage } from "@svc/sdk";
import type { ModelAddress } from "./provider-address.ts";

/** Request and answer format of one kind of API. */
export interface WireFormat {
  /** Appended to the address. */
  readonly path: string;
  headers(address: Pick<ModelAddress, "key">): Readonly<Record<string, string>>;
  body(address: ModelAddress, call: ModelCall): object;
  /** For one answer. */
  reader(address: ModelAddress): Reader;
}

/** Takes the events of one streamed answer. */
export interface Reader {
  /** Adds what an event brings to `out`. Throws a `VendorError` for an event that is one. */
  take(event: Readonly<Record<string, unknown>>, out: ModelEvent[]): void;
  /** Nothing more comes. */
  readonly over: boolean;
  /** The vendor's word for why it stopped; an answer without one was cut. */
  readonly stopped: string | undefined;
  /** As far as the vendor has sent it. */
  readonly usage: Usage | undefined;
  readonly model: string | undefined;
  /** The answer as a part of the conversation. */
  reply(): ModelReply;
}

/** Room for the whole answer where the call names no smaller one. */
export const MAX_OUTPUT_TOKENS = 16_384;

/** Vendors refuse an empty answer of a tool. */
export const toolText = (text: string): string => text || "(nothing)";

/** Parses a tool's input; without `input` if it is not JSON. Some vendors send no text at all for an empty object. */
export function readInput(json: string): { readonly input?: unknown } {
  if (json.trim() === "") return { input: {} };
  try {
    return { input: JSON.parse(json) };
  } catch {
    return {};
  }
}

/** A count in an answer; 0 for anything that is not one. */
export const countOf = (value: unknown): number => (typeof value === "number" && value >= 0 ? value : 0);
/** A text in an answer; empty for anything that is not one. */
export const textIn = (value: unknown): string => (typeof value === "string" ? value : "");
