import type { IncomingHttpHeaders } from "node:http";

/** Version of a file, for conditional requests and ranges. */
export interface Version {
  readonly etag: string;
  /** Unix milliseconds. */
  readonly modified: number;
}

/** The first and the last byte. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Codings of files that may lie beside them, the best first, with their endings. */
export const CODINGS = { br: ".br", gzip: ".gz" } as const;
/** The name of such a coding, as `content-encoding` says it. */
export type Coding = keyof typeof CODINGS;

/** Whether the client has this version already. Its tags decide; its time only if it sent no tags. */
export function isKnown({ "if-none-match": tags, "if-modified-since": since }: IncomingHttpHeaders, { etag, modified }: Version): boolean {
  if (tags !== undefined) return tags.trim() === "*" || tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  return since !== undefined && Math.floor(modified / 1000) * 1000 <= Date.parse(since);
}

/**
 * Returns the requested range: undefined for the whole file, also for several ranges, for an unsupported syntax, and for a range of another version;
 * `unsatisfiable` if it is out of bounds.
 */
export function rangeOf(headers: IncomingHttpHeaders, version: Version, size: number): ByteRange | "unsatisfiable" | undefined {
  const { range, "if-range": given } = headers;
  const only = given?.toString();
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range?.trim() ?? "");
  if (match === null || (only !== undefined && !isOf(only, version))) return undefined;
  const [from, to] = [match[1] as string, match[2] as string];
  if (from === "") {
    if (to === "") return undefined;
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= size ? "unsatisfiable" : { first, last: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}

/** Compared strongly: a tag byte for byte, a time to the second. */
function isOf(only: string, { etag, modified }: Version): boolean {
  return only.trim() === etag || (!only.includes('"') && Date.parse(only) === Math.floor(modified / 1000) * 1000);
}

/** Returns the encodings that the client accepts, the best first; empty for a range, whose bytes are those of the file itself. */
export function codingsOf({ "accept-encoding": accepted, range }: IncomingHttpHeaders): readonly Coding[] {
  if (typeof accepted !== "string" || range !== undefined) return [];
  const weights = new Map(
    accepted.split(",").map((part) => {
      const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
      const weight = parameters.find((text) => text.startsWith("q="));
      return [name, weight === undefined ? 1 : Number(weight.slice(2))];
    }),
  );
  return (Object.keys(CODINGS) as Coding[]).filter((coding) => (weights.get(coding) ?? weights.get("*") ?? 0) > 0);
}
