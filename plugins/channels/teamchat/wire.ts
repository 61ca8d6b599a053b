/** A file of a message, as the platform tells of it. */
export interface WireFile {
  readonly id: string;
  readonly name?: string;
  readonly title?: string;
  readonly mimetype?: string;
  readonly size?: number;
  /** `hosted` lies there; `external`, `tombstone`, `hidden_by_limit` have no bytes. */
  readonly mode?: string;
  readonly url_private?: string;
  readonly url_private_download?: string;
  /** `check_file_info`: of a shared channel; what it is must be asked for. */
  readonly file_access?: string;
}

/** A message, in an event and in the history. */
export interface WirePost {
  readonly type?: string;
  readonly subtype?: string;
  readonly ts?: string;
  readonly text?: string;
  readonly user?: string;
  readonly bot_id?: string;
  readonly app_id?: string;
  readonly username?: string;
  readonly bot_profile?: { readonly name?: string };
  /** The workspace of its sender. */
  readonly team?: string;
  readonly user_team?: string;
  readonly source_team?: string;
  readonly thread_ts?: string;
  /** The user who began the thread. */
  readonly parent_user_id?: string;
  readonly reply_count?: number;
  readonly latest_reply?: string;
  readonly files?: readonly WireFile[];
  readonly blocks?: readonly unknown[];
  readonly metadata?: { readonly event_type?: string; readonly event_payload?: Readonly<Record<string, unknown>> };
}

/** A message as an event tells of it. */
export interface WireEvent extends WirePost {
  readonly channel?: string;
  readonly channel_type?: string;
}

/** The payload of `events_api`. */
export interface EventPayload {
  readonly team_id?: string;
  readonly api_app_id?: string;
  readonly event?: WireEvent;
  readonly authorizations?: readonly { readonly team_id?: string; readonly user_id?: string }[];
}

/** The payload of `interactive` for a pressed button. */
export interface PressPayload {
  readonly type?: string;
  readonly api_app_id?: string;
  readonly team?: { readonly id?: string };
  readonly user?: { readonly id?: string; readonly username?: string; readonly name?: string; readonly team_id?: string };
  readonly channel?: { readonly id?: string; readonly name?: string };
  readonly container?: { readonly message_ts?: string; readonly thread_ts?: string };
  readonly message?: WirePost;
  readonly actions?: readonly {
    readonly type?: string;
    readonly value?: string;
    readonly action_ts?: string;
    readonly text?: { readonly text?: string };
  }[];
}

/** Our account in a workspace, from `auth.test`. */
export interface Me {
  readonly team: string;
  readonly teamName: string;
  readonly user: string;
  readonly botId: string;
  readonly name: string;
  readonly app: string;
}

/** Direct messages have an id of their own. */
export const isDirect = (chat: string): boolean => chat.startsWith("D");

/** Message ids are times: seconds and a count. Ordered as numbers of both parts. */
export function compareTs(left: string, right: string): number {
  const [a = "0", b = "0"] = left.split(".");
  const [c = "0", d = "0"] = right.split(".");
  return Number(a) - Number(c) || Number(b) - Number(d);
}

/** A message id that is so many milliseconds earlier. */
export function earlierTs(ts: string, ms: number): string {
  const [seconds = "0", count = "000000"] = ts.split(".");
  return `${Math.max(0, Number(seconds) - Math.ceil(ms / 1_000))}.${count}`;
}

/** The message id of a moment. */
export const tsAt = (ms: number): string => `${Math.floor(ms / 1_000)}.${String(Math.floor(ms % 1_000) * 1_000).padStart(6, "0")}`;
