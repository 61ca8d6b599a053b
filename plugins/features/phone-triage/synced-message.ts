import { svcError } from "@svc/sdk";

/** A picture, recording or file of a message, as the sync tool names it. */
export interface SyncedMedia {
  readonly kind: "image" | "audio" | "video" | "file";
  readonly name?: string;
  readonly type?: string;
  readonly bytes?: number;
}

/** A message of a phone chat, as far as it counts here. */
export interface SyncedMessage {
  readonly id: string;
  readonly chat: string;
  readonly chatName?: string;
  readonly sender: string;
  readonly senderName?: string;
  /** Unix time in milliseconds; the tool's word. */
  readonly at: number;
  readonly text: string;
  readonly replyTo?: string;
  readonly media?: SyncedMedia;
}

/** Content of a delivery, or why it is ignored. */
export type Synced = { readonly message: SyncedMessage } | { readonly ignored: string };

/** Characters of one message that are kept. */
const MOST_TEXT = 20_000;
const KINDS: Readonly<Record<string, SyncedMedia["kind"]>> = { image: "image", sticker: "image", audio: "audio", ptt: "audio", video: "video", gif: "video" };

/** Parses the body that `wacli sync --webhook` posts. Throws 400 for any other. */
export function readSynced(raw: Uint8Array): Synced {
  const body = parse(raw);
  const event = text(body["EventType"]);
  if (event !== undefined && event !== "message") return { ignored: `it is a ${/^\w{1,40}$/.test(event) ? event : "foreign"} event` };
  if (body["FromMe"] === true) return { ignored: "it was written by the owner of the phone" };
  if (text(body["ReactionToID"]) !== undefined) return { ignored: "it is a reaction" };
  if (body["Revoked"] === true) return { ignored: "it was taken back" };
  const [id, chat] = [text(body["ID"]), text(body["Chat"])];
  if (id === undefined || chat === undefined) throw unreadable("it names no ID and Chat");
  const media = mediaOf(body["Media"]);
  const words = (text(body["Text"]) ?? media?.caption ?? "").slice(0, MOST_TEXT);
  const extra = placeOf(body["Location"]) ?? pollOf(body["Poll"]);
  if (words === "" && media === undefined && extra === undefined) return { ignored: "it has no words" };
  const at = Date.parse(text(body["Timestamp"]) ?? "");
  return {
    message: {
      id,
      chat,
      sender: text(body["SenderJID"]) ?? chat,
      at: Number.isFinite(at) ? at : Date.now(),
      text: [words, extra].filter(Boolean).join("\n"),
      ...optional("chatName", name(body["ChatName"])),
      ...optional("senderName", name(body["PushName"])),
      ...optional("replyTo", text(body["ReplyToDisplay"])?.slice(0, 500)),
      ...optional("media", media?.media),
    },
  };
}

const optional = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };

function parse(raw: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const body: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw));
    if (isObject(body)) return body;
  } catch {
    // Its words are a stranger's and stand in no error.
  }
  throw unreadable("it is no JSON object");
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const name = (value: unknown): string | undefined => text(value)?.replace(/\s+/gu, " ").trim().slice(0, 100) || undefined;

function mediaOf(value: unknown): { readonly media: SyncedMedia; readonly caption: string | undefined } | undefined {
  if (!isObject(value)) return undefined;
  const kind = KINDS[text(value["Type"])?.toLowerCase() ?? ""] ?? "file";
  const bytes = value["FileLength"];
  const media = {
    kind,
    ...optional("name", name(value["Filename"])),
    ...optional("type", name(value["MimeType"])),
    ...optional("bytes", typeof bytes === "number" ? bytes : undefined),
  };
  return { media, caption: text(value["Caption"]) };
}

function placeOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  return `[place: ${[name(value["Name"]), name(value["Address"]), `${value["Latitude"]}, ${value["Longitude"]}`].filter(Boolean).join("; ")}]`;
}

function pollOf(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const options = Array.isArray(value["Options"]) ? value["Options"].map(name).filter(Boolean) : [];
  return `[poll: ${name(value["Question"]) ?? ""}: ${options.join(" / ")}]`;
}

const unreadable = (why: string) => svcError("SVC_TRIAGE_BODY", `This is no message of the sync tool: ${why}.`, { status: 400 });
