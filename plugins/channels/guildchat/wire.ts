/** A user of the platform. */
export interface WireUser {
  readonly id: string;
  readonly username: string;
  readonly global_name?: string | null;
  readonly bot?: boolean;
}

/** A file of a message; its address works for some hours. */
export interface WireAttachment {
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly url: string;
  readonly content_type?: string;
}

/** A message. */
export interface WireMessage {
  readonly id: string;
  readonly type: number;
  readonly channel_id: string;
  readonly guild_id?: string;
  readonly author: WireUser;
  readonly webhook_id?: string;
  readonly member?: { readonly nick?: string | null; readonly roles?: readonly string[] };
  readonly content: string;
  readonly mentions?: readonly WireUser[];
  readonly mention_roles?: readonly string[];
  readonly attachments?: readonly WireAttachment[];
  readonly message_reference?: { readonly message_id?: string };
  readonly referenced_message?: WireMessage | null;
  readonly components?: readonly { readonly components?: readonly { readonly custom_id?: string; readonly label?: string }[] }[];
}

/** A channel, a thread, or a direct conversation. */
export interface WireChannel {
  readonly id: string;
  readonly type: number;
  readonly guild_id?: string;
  readonly name?: string | null;
  readonly parent_id?: string | null;
  readonly last_message_id?: string | null;
  readonly recipients?: readonly WireUser[];
}

/** A server with what the gateway tells of it. */
export interface WireGuild {
  readonly id: string;
  readonly name?: string;
  readonly unavailable?: boolean;
  readonly channels?: readonly WireChannel[];
  readonly threads?: readonly WireChannel[];
  readonly roles?: readonly { readonly id: string; readonly tags?: { readonly bot_id?: string } }[];
}

/** A command or a button that somebody used. */
export interface WireInteraction {
  readonly id: string;
  readonly token: string;
  readonly application_id: string;
  readonly type: number;
  readonly channel_id?: string;
  readonly guild_id?: string;
  readonly member?: { readonly user?: WireUser; readonly roles?: readonly string[] };
  readonly user?: WireUser;
  readonly message?: WireMessage;
  readonly data?: { readonly name?: string; readonly custom_id?: string; readonly options?: readonly { readonly name: string; readonly value?: unknown }[] };
}

/** Intents: of which events the gateway tells. */
export const INTENTS = { guilds: 1, guildMessages: 1 << 9, directMessages: 1 << 12, messageContent: 1 << 15 } as const;

const EPOCH = 1_420_070_400_000n;

/** The time of an id, in Unix milliseconds. */
export const timeOf = (id: string): number => Number((BigInt(id) >> 22n) + EPOCH);
/** The smallest id of a time. */
export const idAt = (ms: number): string => String(BigInt(Math.max(0, Math.floor(ms) - Number(EPOCH))) << 22n);
/** Ids are numbers beyond what a number can hold. */
export const isLater = (left: string, right: string): boolean => left.length > right.length || (left.length === right.length && left > right);
/** True for what can be an id; far ends send what they like. */
export const isId = (value: unknown): value is string => typeof value === "string" && /^[0-9]{1,20}$/.test(value);

/** A direct conversation. */
export const isDirect = ({ type }: Pick<WireChannel, "type">): boolean => type === 1;
/** A thread of a channel: of news, public, private. */
export const isThread = ({ type }: Pick<WireChannel, "type">): boolean => type === 10 || type === 11 || type === 12;
