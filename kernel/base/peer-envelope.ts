import type { Envelope } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Maximum lengths of the texts in an envelope from another machine, in UTF-16 units, in the order in which they are checked. */
const REQUIRED = { id: 200, rootId: 200, node: 200, kind: 64, type: 100, at: 40, summary: 560 } as const;
const OPTIONAL = { parentId: 200, agentId: 200, ref: 500, text: 20_000, source: 100 } as const;
const SUMMARY_POINTS = 280;
const DATA_CHARS = 16_384;
const CONTROL = /\p{Cc}/u;

/**
 * Validates another machine's event and returns an envelope with its known members only. Throws `SVC_EVENT_FOREIGN` for anything else: listeners and
 * streams rely on an envelope's shape.
 */
export function peerEnvelope(value: unknown): Envelope {
  const refuse = (reason: string) => fail("SVC_EVENT_FOREIGN", { reason });
  if (typeof value !== "object" || value === null) throw refuse("it is no object");
  const given = value as Record<string, unknown>;
  const found: Record<string, unknown> = {};
  for (const [name, longest] of Object.entries({ ...REQUIRED, ...OPTIONAL })) {
    const text = given[name];
    if (text === undefined && name in OPTIONAL) continue;
    if (typeof text !== "string" || (text === "" && name !== "summary")) throw refuse(`its ${name} is no text`);
    if (text.length > longest) throw refuse(`its ${name} is longer than ${longest} characters`);
    if (name !== "text" && CONTROL.test(text)) throw refuse(`its ${name} holds control characters`);
    found[name] = text;
  }
  if ([...String(found.summary)].length > SUMMARY_POINTS) throw refuse(`its summary is longer than ${SUMMARY_POINTS} characters`);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(String(found.at)) || Number.isNaN(Date.parse(String(found.at)))) throw refuse("its at is no ISO 8601 time");
  if (given.data !== undefined) found.data = plain(given.data, refuse);
  return found as unknown as Envelope;
}

function plain(data: unknown, refuse: (reason: string) => Error): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) throw refuse("its data is no object");
  let text: string;
  try {
    text = JSON.stringify(data);
  } catch {
    throw refuse("its data is no JSON");
  }
  if (text.length > DATA_CHARS) throw refuse(`its data is longer than ${DATA_CHARS} characters`);
  return JSON.parse(text);
}
