import type { Media } from "./messages.ts";

/** Capability `media`: files of a message, prepared for an engine. */
export interface MediaReader {
  /**
   * The pictures among `media`, in order: at most 20 of at most 5 MB that are PNG, JPEG, GIF or WebP by their bytes. `note` names the others; append
   * it to the text of the turn. It is empty when all are passed on. Never rejects.
   */
  pictures(media: readonly Media[]): Promise<{ readonly pictures: readonly Picture[]; readonly note: string }>;
}

/** A picture ready to be shown to a model. */
export interface Picture {
  readonly data: Uint8Array;
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Where it lies, for programs that read it themselves. */
  readonly path?: string;
}

/** The smallest limit of the vendors for one picture. */
const MAX_BYTES = 5 * 1024 * 1024;
const MOST = 20;

/**
 * Implements the capability `media`, for hosts: `read` returns the bytes of a file, or undefined if it is no regular file or larger than `maxBytes`.
 * Pictures are recognised by their bytes, not by the sender's claim: so no other file leaves this machine as one.
 */
export async function readPictures(
  media: readonly Media[],
  read: (path: string, maxBytes: number) => Promise<Uint8Array | undefined>,
): Promise<{ readonly pictures: readonly Picture[]; readonly note: string }> {
  const pictures: Picture[] = [];
  const missing: string[] = [];
  for (const { kind, name, data: given, path } of media) {
    if (kind !== "image") continue;
    const data = pictures.length === MOST ? undefined : (given ?? (path === undefined ? undefined : await read(path, MAX_BYTES)));
    const type = data === undefined || data.byteLength > MAX_BYTES ? undefined : typeOf(data);
    if (data === undefined || type === undefined) missing.push(name ?? "a picture");
    else pictures.push({ data, type, ...(path === undefined ? {} : { path }) });
  }
  return { pictures, note: missing.length === 0 ? "" : `\n\n(Not passed on, because it is no picture of at most 5 MB: ${missing.join(", ")})` };
}

function typeOf(data: Uint8Array): Picture["type"] | undefined {
  const has = (text: string, at = 0) => [...text].every((character, index) => data[at + index] === character.charCodeAt(0));
  if (has("\x89PNG")) return "image/png";
  if (has("\xff\xd8\xff")) return "image/jpeg";
  if (has("GIF8")) return "image/gif";
  return has("RIFF") && has("WEBP", 8) ? "image/webp" : undefined;
}
