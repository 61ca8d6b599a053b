import { type FileHandle, open } from "node:fs/promises";
import { type MediaReader, readPictures } from "@svc/sdk";
import type { LoadedCapability } from "../../base/capability.ts";

/** The capability `media`: one reader for all plugins. */
export function mediaCapability(): LoadedCapability<MediaReader> {
  const media = createMedia();
  return { make: () => media };
}

/** Reads pictures from this machine's files. */
export const createMedia = (): MediaReader => ({ pictures: (media) => readPictures(media, readFile) });

async function readFile(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const facts = await file.stat();
    return facts.isFile() && facts.size <= maxBytes ? await file.readFile() : undefined;
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
