import { channelError, type ForgeNote, type Media } from "@svc/sdk";
import { type Api, at } from "./client.ts";

/** A file that was put into a note, on this forge: its project, the secret part of its address, its name. */
const FILE = /\/uploads\/([0-9a-f]{32})\/([^\s()"'<>\\/?#]{1,255})/g;
const IMAGES = /\.(?:png|jpe?g|gif|webp|bmp|svg|tiff?|avif|heic)$/i;
/** As many files of one note as are looked at. */
const MOST = 20;

/** The files of a note that lie on the forge, by their addresses in its text. Those of other hosts are none. */
export function mediaOf({ text, place }: Pick<ForgeNote, "text" | "place">, home: string): readonly Media[] {
  const found = new Map<string, Media>();
  for (const match of text.matchAll(FILE)) {
    const [, secret = "", written = ""] = match;
    const name = decoded(written);
    const project = projectBefore(text, match.index, place.project, home);
    if (name === undefined || project === undefined || found.size >= MOST) continue;
    const handle = [project, secret, name].join("/");
    found.set(handle, { kind: IMAGES.test(name) ? "image" : "file", name, handle });
  }
  return [...found.values()];
}

/** Returns the project of an upload: `/uploads/` is preceded by nothing, this project, or a project's number; anything else is another host or page. */
function projectBefore(text: string, index: number, project: ForgeNote["place"]["project"], home: string): string | undefined {
  let start = index;
  while (start > 0 && index - start < 1_000 && !/[\s()"'<>[\]=]/.test(text[start - 1] as string)) start -= 1;
  const before = text.slice(start, index);
  const path = before.startsWith(`${home}/`) ? before.slice(home.length) : before;
  if (before === "" || path === `/${project.path}`) return project.id;
  return /^\/-\/project\/(\d{1,15})$/.exec(path)?.[1];
}

function decoded(text: string): string | undefined {
  try {
    const name = decodeURIComponent(text);
    return /[\\/\0]/.test(name) || name === "." || name === ".." ? undefined : name;
  } catch {
    return undefined;
  }
}

/** The bytes behind a handle of `mediaOf`. A picture is one by its bytes, whatever its name says. */
export async function downloadOf(
  api: Api,
  handle: string,
  token: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly data: Uint8Array; readonly type?: string }> {
  const [, project = "", secret = "", name = ""] = /^(\d{1,15})\/([0-9a-f]{32})\/([^/]+)$/.exec(handle) ?? [];
  if (project === "") throw channelError("permanent", "this is no file of the forge");
  const { data, type } = await api.file({ path: at("projects", project, "uploads", secret, name), token, signal }, maxBytes);
  const picture = pictureType(data);
  if (IMAGES.test(name) && picture === undefined && !/\.svg$/i.test(name)) throw channelError("permanent", `${name} is no picture by its bytes`);
  const told = picture ?? (type === "" ? undefined : type);
  return { data, ...(told === undefined ? {} : { type: told }) };
}

/** Returns the type of a picture by its first bytes. */
function pictureType(data: Uint8Array): string | undefined {
  const has = (text: string, from = 0) => [...text].every((sign, offset) => data[from + offset] === sign.charCodeAt(0));
  if (has("\x89PNG\r\n\x1a\n")) return "image/png";
  if (has("\xff\xd8\xff")) return "image/jpeg";
  if (has("GIF87a") || has("GIF89a")) return "image/gif";
  if (has("RIFF") && has("WEBP", 8)) return "image/webp";
  if (has("BM")) return "image/bmp";
  if (has("II*\0") || has("MM\0*")) return "image/tiff";
  return has("ftypavif", 4) || has("ftypheic", 4) ? `image/${has("ftypavif", 4) ? "avif" : "heic"}` : undefined;
}
