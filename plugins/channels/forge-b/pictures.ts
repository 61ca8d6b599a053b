import { channelError, type ForgeNote, type ForgeProject, type Media } from "@svc/sdk";
import { type Api, type Credential, inRepository } from "./api.ts";

/** Pictures of one note that are fetched. */
const MOST = 8;
const LONGEST_TEXT = 65_536;
const NAME = 100;

/** Content of a handle: the note, and which of its pictures. */
interface Handle {
  readonly path: string;
  /** Of the repository. */
  readonly project: string;
  readonly kind: ForgeNote["kind"];
  /** Of the issue or request. */
  readonly number: string;
  readonly note: string;
  readonly asset: string;
}

/** The part of a picture's address that its signed address has too. */
const ASSET = /\/(?:user-attachments\/assets|assets\/\d+|\d+)\/(?:\d+-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:\.\w{1,5})?$/i;
/** An address of a picture there is far shorter. */
const LONGEST_ADDRESS = 300;
const LONGEST_NAME = 500;
const ENDS: ReadonlySet<string> = new Set([" ", "\t", "\r", "\n", ")", ">", "<", '"', "'"]);

/** Addresses of pictures in a text, with the words that stand for them. One pass: a note may be 64 KiB that mean harm. */
function* addressesIn(text: string): Generator<{ readonly address: string; readonly alt: string }> {
  let end = 0;
  for (let at = text.indexOf("://"); at !== -1; at = text.indexOf("://", Math.max(end, at + 3))) {
    const start = text.startsWith("https", at - 5) ? at - 5 : at - 4;
    if (!text.startsWith("http", start)) continue;
    end = at + 3;
    while (end < text.length && end - start < LONGEST_ADDRESS && !ENDS.has(text[end] as string)) end += 1;
    const address = text.slice(start, end);
    if (!ASSET.test(address)) continue;
    const before = text.slice(Math.max(0, start - LONGEST_NAME), start);
    const inMarkdown = /!\[([^\]\n]*)\]\(\s{0,3}<?$/.exec(before.slice(before.lastIndexOf("![")));
    if (inMarkdown !== null) yield { address, alt: inMarkdown[1] ?? "" };
    else if (/\bsrc\s{0,3}=\s{0,3}["']$/i.test(before.slice(-12))) yield { address, alt: "" };
  }
}

/** Pictures that people put into a text at the forge itself; others are links to anywhere, which nothing fetches. */
export function picturesIn({ place, kind, id, text }: ForgeNote, homes: readonly string[]): readonly Media[] {
  const found = new Map<string, Media>();
  for (const { address, alt } of addressesIn(text.slice(0, LONGEST_TEXT))) {
    if (!URL.canParse(address)) continue;
    const { origin, pathname } = new URL(address);
    const asset = homes.includes(origin) ? ASSET.exec(pathname)?.[1]?.toLowerCase() : undefined;
    if (asset === undefined || found.has(asset)) continue;
    const handle: Handle = { path: place.project.path, project: place.project.id, kind, number: place.id, note: id, asset };
    found.set(asset, { kind: "image", ...(alt === "" ? {} : { name: alt.slice(0, NAME) }), handle: JSON.stringify(handle) });
    if (found.size === MOST) break;
  }
  return [...found.values()];
}

/** Where a note is read once more, with signed addresses of its pictures. */
function noteAt({ path, kind, number, note }: Handle): string {
  if (kind === "note") return inRepository(path, "issues", "comments", note);
  if (kind === "review-note") return inRepository(path, "pulls", "comments", note);
  if (kind === "commit-note") return inRepository(path, "comments", note);
  if (kind === "review") return inRepository(path, "pulls", number, "reviews", note);
  return inRepository(path, "issues", number);
}

/** The bytes of a picture, by the signed address that the forge gives a reader of the note. It opens without a token, which stays here. */
export async function pictureOf(
  api: Api,
  text: string,
  as: (project: Pick<ForgeProject, "path" | "id">) => Credential,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly data: Uint8Array; readonly type?: string }> {
  const handle = JSON.parse(text) as Handle;
  const { body } = await api.call({
    path: noteAt(handle),
    as: as({ path: handle.path, id: handle.project }),
    accept: "application/vnd.github.full+json",
    signal,
  });
  const html = (body as { body_html?: unknown } | null)?.body_html;
  const address = typeof html === "string" ? addressIn(html, handle.asset) : undefined;
  if (address === undefined) throw channelError("permanent", "the picture is not in the note any more");
  const { data } = await api.file(address, maxBytes, signal);
  const type = typeOf(data);
  // A page to sign in, say: the bytes tell, the header may not.
  if (type === undefined) throw channelError("permanent", "the forge answered with something that is no picture");
  return { data, type };
}

function addressIn(html: string, asset: string): string | undefined {
  for (const [, source = ""] of html.matchAll(/<img\b[^>]{0,2000}?\bsrc="([^"]{1,4000})"/gi)) {
    const address = source.replaceAll("&amp;", "&");
    if (URL.canParse(address) && new URL(address).pathname.toLowerCase().includes(asset)) return address;
  }
  return undefined;
}

const SIGNS: readonly (readonly [type: string, at: number, sign: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
];

/** By its first bytes; undefined for another kind of file. */
export function typeOf(data: Uint8Array): string | undefined {
  const head = String.fromCharCode(...data.subarray(0, 16));
  return SIGNS.find(([, at, sign]) => head.startsWith(sign, at))?.[0];
}
