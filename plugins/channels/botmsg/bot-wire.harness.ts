import type { IncomingMessage, ServerResponse } from "node:http";

export function reply(response: ServerResponse, status: number, body: unknown): void {
  if (!response.writableEnded) response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export const json = (value: unknown): unknown => (typeof value === "string" ? JSON.parse(value) : value);

export async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const type = String(request.headers["content-type"] ?? "");
  if (!type.startsWith("multipart/")) return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Record<string, unknown>);
  return partsOf(bytes, /boundary=(\S+)/.exec(type)?.[1] ?? "");
}

/** The parts of a multipart body: fields as text, files as bytes with their name. */
function partsOf(bytes: Buffer, boundary: string): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const raw = bytes.toString("latin1");
  for (const part of raw.split(`--${boundary}`).slice(1, -1)) {
    const [, head = "", content = ""] = /^\r\n([\s\S]*?)\r\n\r\n([\s\S]*?)\r\n$/.exec(part) ?? [];
    const name = /name="([^"]+)"/.exec(head)?.[1] ?? /name=([^;\r\n]+)/.exec(head)?.[1] ?? "";
    const fileName = /filename=(?:"([^"]*)"|([^;\r\n]+))/.exec(head);
    const data = Buffer.from(content, "latin1");
    body[name] = fileName === null ? data.toString() : Object.assign(new Uint8Array(data), { fileName: fileName[1] ?? fileName[2] });
  }
  return body;
}

/** The platform marks handles in what people write. */
export function entitiesOf(text: string): { entities?: object[] } {
  const entities = [...text.matchAll(/@\w{5,}/g)].map((match) => ({ type: "mention", offset: match.index, length: match[0].length }));
  return entities.length === 0 ? {} : { entities };
}

/** Buttons must have a text and one thing that they do, with at most 64 bytes of data. */
export function buttonProblem(markup: unknown): string | undefined {
  const rows = (markup as { inline_keyboard?: { text?: string; callback_data?: string; url?: string }[][] } | undefined)?.inline_keyboard ?? [];
  for (const { text = "", callback_data, url } of rows.flat()) {
    if (text === "") return "Text buttons are unallowed in the inline keyboard";
    if ((callback_data === undefined) === (url === undefined)) return "inline keyboard button must do exactly one thing";
    if (url !== undefined && !new URL(url).hostname.includes(".")) return `inline keyboard button URL '${url}' is invalid: Wrong HTTP URL`;
    if (callback_data !== undefined && (callback_data === "" || Buffer.byteLength(callback_data) > 64)) return "BUTTON_DATA_INVALID";
  }
  return undefined;
}

const TAGS = new Set(["b", "strong", "i", "em", "u", "s", "del", "code", "pre", "a", "blockquote", "tg-spoiler"]);

/** Tags must be known, nested and closed, as the platform insists. */
export function parse(text: string, mode: unknown): { text: string } | { problem: string } {
  if (mode === undefined) return { text };
  if (mode !== "HTML") return { problem: `unsupported parse_mode ${String(mode)}` };
  const open: string[] = [];
  for (const [, slash, tag = ""] of text.matchAll(/<(\/?)([a-z-]*)[^>]*>?/g)) {
    if (!TAGS.has(tag)) return { problem: `can't parse entities: Unsupported start tag "${tag}"` };
    if (slash === "") open.push(tag);
    else if (open.pop() !== tag) return { problem: `can't parse entities: Unmatched end tag "${tag}"` };
  }
  if (open.length > 0) return { problem: `can't parse entities: Can't find end tag corresponding to start tag "${open.at(-1)}"` };
  return {
    text: text
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&"),
  };
}
