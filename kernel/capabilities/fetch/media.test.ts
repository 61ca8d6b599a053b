import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Media } from "@svc/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createMedia } from "./media.ts";

const bytes = (start: string) => Buffer.from(start.padEnd(32, "."), "latin1");
const PICTURES = { png: "\x89PNG", jpeg: "\xff\xd8\xff", gif: "GIF89a", webp: "RIFF....WEBP" } as const;
const image = (facts: Partial<Media>): Media => ({ kind: "image", ...facts });
const { pictures: read } = createMedia();

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-media-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const put = (name: string, data: Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, data);
  return path;
};

it("tells pictures by their bytes, whatever their sender calls them, from data and from files", async () => {
  for (const [kind, start] of Object.entries(PICTURES)) {
    const data = bytes(start);
    const path = put(`${kind}.txt`, data);
    const { pictures, note } = await read([image({ data, type: "text/plain" }), image({ path, type: "image/tiff" })]);
    expect(pictures).toEqual([
      { data, type: `image/${kind}` },
      { data, type: `image/${kind}`, path },
    ]);
    expect(note).toBe("");
  }
});

it("hands on nothing else, and names it without saying where it lies", async () => {
  const large = put("large.png", bytes(PICTURES.png));
  truncateSync(large, 5 * 1024 * 1024 + 1);
  const { pictures, note } = await read([
    image({ name: "notes.png", path: put("notes.png", Buffer.from("a secret")) }),
    image({ name: "short.webp", data: Buffer.from("RIFF") }),
    image({ name: "large.png", path: large }),
    image({ name: "larger.png", data: Buffer.concat([bytes(PICTURES.png), Buffer.alloc(5 * 1024 * 1024)]) }),
    image({ path: folder }),
    image({ path: join(folder, "nothing.png") }),
    image({}),
    { kind: "file", name: "a file", data: bytes(PICTURES.png) },
  ]);
  expect(pictures).toEqual([]);
  expect(note).toBe(
    "\n\n(Not passed on, because it is no picture of at most 5 MB: notes.png, short.webp, large.png, larger.png, a picture, a picture, a picture)",
  );
});

it("hands on twenty at most", async () => {
  const { pictures, note } = await read(Array.from({ length: 21 }, (_, n) => image({ name: `${n}.png`, data: bytes(PICTURES.png) })));
  expect(pictures).toHaveLength(20);
  expect(note).toContain(": 20.png)");
});
