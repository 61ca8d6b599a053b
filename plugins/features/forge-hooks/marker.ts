import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { ForgePlace, Store } from "@svc/sdk";

/** Content of the last line of an agent's comment. */
export interface Marker {
  readonly agent: string;
  readonly task: string;
  /** Names this one comment: 12 signs. */
  readonly nonce: string;
}

/** Where a comment stands, as a marker is bound to it: moved or quoted elsewhere it is void. */
export type MarkedPlace = Pick<ForgePlace, "project" | "kind" | "id">;

const LINE = /^<!-- svc1 ([A-Za-z0-9][A-Za-z0-9._-]{0,63}) ([A-Za-z0-9_-]{1,64}) ([A-Za-z0-9_-]{12}) ([A-Za-z0-9_-]{22}) -->$/;
const MAC_CHARS = 22;
const KEY_BYTES = 32;
/** Longer lines are no marker and are not looked at. */
const LINE_CHARS = 256;

/** Writes and reads the hidden signature of comments: which agent wrote it, for which task, on which issue. */
export class Markers {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The last line of a comment. */
  line(forge: string, origin: string, place: MarkedPlace, marker: Marker): string {
    return `<!-- svc1 ${marker.agent} ${marker.task} ${marker.nonce} ${this.#mac(forge, origin, place, marker)} -->`;
  }

  /** Returns the marker of a comment if it belongs to this place and was made by this installation; undefined if it is quoted, moved, or followed by text. */
  read(forge: string, origin: string, place: MarkedPlace, text: string): Marker | undefined {
    const trimmed = text.slice(-2 * LINE_CHARS).trimEnd();
    const line = trimmed.slice(Math.max(trimmed.lastIndexOf("\n"), trimmed.lastIndexOf("\r")) + 1);
    if (line.length > LINE_CHARS) return undefined;
    const [, agent = "", task = "", nonce = "", mac = ""] = LINE.exec(line) ?? [];
    if (agent === "") return undefined;
    const marker = { agent, task, nonce };
    const right = this.#mac(forge, origin, place, marker);
    return timingSafeEqual(Buffer.from(right), Buffer.from(mac)) ? marker : undefined;
  }

  #mac(forge: string, origin: string, { project, kind, id }: MarkedPlace, { agent, task, nonce }: Marker): string {
    return createHmac("sha256", this.#key)
      .update(JSON.stringify([forge, origin, project.id, `${kind}:${id}`, agent, task, nonce]))
      .digest("base64url")
      .slice(0, MAC_CHARS);
  }
}

/** A new name for a comment. */
export const newNonce = (): string => randomBytes(9).toString("base64url");

/** The key of this installation's markers: made once, kept with its state. */
export async function openMarkers(store: Store): Promise<Markers> {
  const keys = store.collection<{ readonly key: string }>("keys");
  const known = await keys.get("marker");
  if (known !== undefined) return new Markers(Buffer.from(known.value.key, "base64"));
  const key = randomBytes(KEY_BYTES);
  try {
    await keys.put("marker", { key: key.toString("base64") }, "absent");
    return new Markers(key);
  } catch (error) {
    // Another daemon of the same state was faster.
    const theirs = await keys.get("marker");
    if (theirs === undefined) throw error;
    return new Markers(Buffer.from(theirs.value.key, "base64"));
  }
}
