import { gunzipSync, gzipSync } from "node:zlib";

/** Which file of a tarball becomes another one, or which of several. */
export type Edit = readonly [path: string | RegExp, change: (text: string) => string];

const BLOCK = 512;
const SIZE = [124, 136] as const;
const CHECKSUM = [148, 156] as const;

/** A tarball with some of its files changed; the others stay as they are. Throws where an edit changes nothing. */
export function editTarball(tarball: Buffer, edits: readonly Edit[]): Buffer {
  const effective = new Set<Edit>();
  const parts: Buffer[] = [];
  for (const { path, header, body } of entries(gunzipSync(tarball))) {
    let text = body.toString("utf8");
    for (const edit of edits.filter(([of]) => (typeof of === "string" ? of === path : of.test(path)))) {
      const changed = edit[1](text);
      if (changed !== text) effective.add(edit);
      text = changed;
    }
    const content = text === body.toString("utf8") ? body : Buffer.from(text);
    parts.push(content === body ? header : sized(header, content.length), content, Buffer.alloc(padding(content.length)));
  }
  const [vain] = edits.filter((edit) => !effective.has(edit));
  if (vain !== undefined) throw new Error(`nothing changes in ${vain[0]}`);
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

/** The text of one file of a tarball. */
export function fileOfTarball(tarball: Buffer, file: string): string {
  for (const { path, body } of entries(gunzipSync(tarball))) if (path === file) return body.toString("utf8");
  throw new Error(`there is no ${file}`);
}

/** What stands in an archive, up to its first empty block. Headers with further fields of a file are entries of their own. */
function* entries(tar: Buffer): Generator<{ path: string; header: Buffer; body: Buffer }> {
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const header = tar.subarray(at, at + BLOCK);
    const word = (from: number, to: number) => header.toString("utf8", from, to).replace(/\0.*$/s, "");
    const size = Number.parseInt(word(...SIZE), 8);
    const body = tar.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + size + padding(size);
    yield { path: [word(345, 500), word(0, 100)].filter(Boolean).join("/"), header, body };
  }
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

function sized(header: Buffer, size: number): Buffer {
  const made = Buffer.from(header);
  made.write(`${size.toString(8).padStart(11, "0")}\0`, SIZE[0]);
  made.fill(" ", ...CHECKSUM);
  const sum = made.reduce((total, byte) => total + byte, 0);
  made.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM[0]);
  return made;
}
