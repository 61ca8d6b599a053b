/** A person or a bot of a workspace. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly realName: string;
  readonly team: string;
  /** Of a bot: the id beside its user's. */
  readonly botId?: string;
}

/** A place where messages stand. */
export interface Room {
  readonly id: string;
  readonly team: string;
  readonly name: string;
  readonly kind: "channel" | "group" | "im" | "mpim";
  readonly members: Set<string>;
  archived?: boolean;
  readonly posts: Post[];
}

/** A file as it lies on the platform. */
export interface StoredFile {
  readonly id: string;
  readonly team: string;
  readonly name: string;
  readonly mimetype: string;
  data: Uint8Array;
  readonly user: string;
  title?: string;
  /** Its address is not given out any more, or leads to a page that asks to sign in. */
  state: "there" | "gone" | "sign-in" | "elsewhere";
}

/** A message as it stands in a room. */
export interface Post {
  readonly ts: string;
  readonly user: string;
  /** Of its sender. */
  readonly team?: string;
  readonly botId?: string;
  readonly appId?: string;
  text: string;
  /** False: the signs of markup in `text` are words. */
  readonly mrkdwn: boolean;
  blocks?: readonly Block[];
  /** The part of its words that is standard markdown, of a message that was streamed. */
  markdown?: string;
  readonly threadTs?: string;
  readonly subtype?: string;
  readonly files: readonly StoredFile[];
  readonly metadata?: { readonly event_type: string; readonly event_payload: Readonly<Record<string, unknown>> };
  readonly reactions: Map<string, Set<string>>;
  /** It grows: it can be appended to, and not be updated. */
  streaming?: boolean;
  edits: number;
}

/** A block of a message, as far as it is checked. */
export interface Block {
  readonly type: string;
  readonly block_id?: string;
  readonly text?: { readonly type: string; readonly text: string; readonly emoji?: boolean };
  readonly elements?: readonly Record<string, unknown>[];
  readonly [more: string]: unknown;
}

/** A workspace with one app in it. */
export interface Workspace {
  readonly team: string;
  readonly name: string;
  readonly appId: string;
  readonly bot: Person;
  botToken: string;
  appToken: string;
  readonly scopes: Set<string>;
  socketMode: boolean;
  /** Every call of the bot is refused for this reason. */
  refused?: string;
}

/** All that the platform keeps. */
export interface World {
  readonly workspaces: Workspace[];
  readonly people: Map<string, Person>;
  readonly rooms: Map<string, Room>;
  readonly files: Map<string, StoredFile>;
  /** A message id that is later than all before. */
  ts(): string;
  id(prefix: string): string;
  room(id: unknown): Room | undefined;
}

export function createWorld(): World {
  let last = Math.floor(Date.now() / 1000) * 1_000_000;
  let ids = 0;
  const rooms = new Map<string, Room>();
  return {
    workspaces: [],
    people: new Map(),
    rooms,
    files: new Map(),
    ts() {
      // The platform's clock: seconds, and a count within them.
      last = Math.max(last + 100, Date.now() * 1_000);
      return `${Math.floor(last / 1_000_000)}.${String(last % 1_000_000).padStart(6, "0")}`;
    },
    id: (prefix) => `${prefix}0${String(++ids).padStart(8, "0")}`,
    room: (id) => (typeof id === "string" ? rooms.get(id) : undefined),
  };
}

/** What people read of a message: entities decoded, blocks put in words. */
export function wordsOf(post: Pick<Post, "text" | "blocks" | "markdown">): string {
  if (post.markdown !== undefined) return post.markdown;
  const words = (post.blocks ?? []).map(blockWords).filter((text) => text !== undefined);
  return words.length > 0 ? words.join("\n") : decoded(post.text);
}

export const decoded = (text: string): string => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

function blockWords({ type, text, elements = [] }: Block): string | undefined {
  if (type === "section") return text?.type === "mrkdwn" ? decoded(text.text) : (text?.text ?? "");
  if (type === "rich_text") return elements.map(richWords).join("\n");
  if (type === "markdown") return String(text);
  return undefined;
}

function richWords(element: Record<string, unknown>): string {
  const inner = (element.elements ?? []) as Record<string, unknown>[];
  if (inner.length > 0) return inner.map(richWords).join("");
  return String(element.text ?? element.url ?? "");
}

/** Whom a message alerts: what stands in it as a mention of a person or of everybody. */
export function alertsOf({ text, blocks = [], markdown = "" }: Pick<Post, "text" | "blocks" | "markdown">): string[] {
  const marked = [text, markdown, ...blocks.map((block) => (block.text?.type === "mrkdwn" ? block.text.text : ""))].join("\n");
  return [...marked.matchAll(/<(![a-z]+|@[A-Z0-9]+)(?:\|[^>]*)?>/g)].map(([, whom]) => whom as string);
}
