import { choiceOf, type Media, type Message, type Sender } from "@svc/sdk";
import { saidBy } from "./buttons.ts";
import { type EventPayload, isDirect, type Me, type PressPayload, type WireEvent, type WireFile } from "./wire.ts";
import { handlesIn, mentionedIn, type Names, withoutOwn, wordsIn } from "./words.ts";

/** A message as it was heard in a workspace. */
export interface Heard {
  readonly message: Message & { readonly platformId: string; readonly sender: Sender };
  /** The message addresses the bot: directly, by name, in a thread that it began, or by a button of its own message. */
  readonly addressed: boolean;
  /** The bot is mentioned. */
  readonly named: boolean;
  /** The workspaces that are named as its sender's: in a shared channel one of them is another one. */
  readonly teams: readonly string[];
  /** A pressed button: who pressed it is told what became of it. */
  readonly pressed?: true;
}

/** Subtypes of messages that people write; others are notes of the platform. */
const SAID = new Set<string | undefined>([undefined, "file_share", "thread_broadcast", "me_message", "bot_message"]);

/** Where a message comes in. */
export interface Place {
  /** The workspace's name in the configuration. */
  readonly account: string;
  readonly me: Me;
  readonly names: Names;
  /** The workspace of a person, where it is known. */
  teamOf(id: string): string | undefined;
}

/** Whether it is our own message, which is never answered. */
export const isOwn = (event: WireEvent, me: Me): boolean => event.user === me.user || (event.bot_id !== undefined && event.bot_id === me.botId);

/** The key of a message: the same over all events, envelopes and reads of the history that tell of it. */
export const keyOf = (me: Me, chat: string, ts: string): string => `teamchat/${me.team}/${me.app}/${chat}/${ts}`;

/** Maps an event or a message of the history; undefined for others. */
export function heardOf(event: WireEvent, chat: string, { account, me, names, teamOf }: Place): Heard | undefined {
  const { ts, subtype, user, bot_id } = event;
  if (ts === undefined || !SAID.has(subtype) || isOwn(event, me)) return undefined;
  const id = user ?? bot_id;
  const raw = event.text ?? "";
  const media = mediaOf(event.files ?? [], account);
  if (id === undefined || (raw.trim() === "" && media.length === 0)) return undefined;
  const direct = isDirect(chat);
  const mentioned = mentionedIn(raw);
  const named = mentioned.includes(me.user);
  const handles = [...mentioned.map((one) => (one === me.user ? me.name : (names(one) ?? one)).toLowerCase()), ...handlesIn(raw)];
  const mentions = [...new Set(handles)];
  // In a channel each message begins a thread, and the answer stands in it.
  const thread = event.thread_ts ?? (direct ? undefined : ts);
  const name = names(id) ?? event.bot_profile?.name ?? event.username;
  return {
    message: {
      entry: "channel",
      channel: "teamchat",
      account,
      chat,
      ...(direct ? { direct: true } : {}),
      ...(thread === undefined ? {} : { thread }),
      sender: { id, ...(name === undefined ? {} : { name }), ...(bot_id === undefined && subtype !== "bot_message" ? {} : { bot: true }) },
      text: wordsIn(withoutOwn(raw, me.user), names),
      platformId: ts,
      dedupKey: keyOf(me, chat, ts),
      ...(mentions.length === 0 ? {} : { mentions }),
      ...(media.length === 0 ? {} : { media }),
    },
    addressed: direct || named || event.parent_user_id === me.user,
    named,
    teams: [event.user_team, event.source_team, event.team, teamOf(id)].filter((team) => team !== undefined),
  };
}

/**
 * A pressed button: one of a delivery with choices counts as that choice, one of an agent's own as its label said by the person who
 * pressed it.
 */
export function pressOf(payload: PressPayload, { account, me, names, teamOf }: Place): Heard | undefined {
  const [action] = payload.actions ?? [];
  const chat = payload.channel?.id;
  const user = payload.user?.id;
  const ts = payload.container?.message_ts ?? payload.message?.ts;
  if (payload.type !== "block_actions" || action?.type !== "button" || chat === undefined || user === undefined || ts === undefined) return undefined;
  const choice = action.value === undefined ? undefined : choiceOf(action.value);
  const label = wordsIn(action.text?.text ?? "", names);
  // The label may be cut where the platform shows it.
  const said = choice === undefined ? saidBy(action.value ?? "") : label;
  if (choice === undefined && (said === undefined || said === "")) return undefined;
  const direct = isDirect(chat);
  const thread = payload.container?.thread_ts ?? payload.message?.thread_ts ?? (direct ? undefined : ts);
  const name = names(user) ?? payload.user?.username ?? payload.user?.name;
  return {
    message: {
      entry: "channel",
      channel: "teamchat",
      account,
      chat,
      ...(direct ? { direct: true } : {}),
      ...(thread === undefined ? {} : { thread }),
      sender: { id: user, ...(name === undefined ? {} : { name }) },
      text: said || (choice?.id ?? ""),
      platformId: ts,
      dedupKey: `${keyOf(me, chat, ts)}/press/${user}/${action.action_ts ?? action.value}`,
      ...(choice === undefined ? {} : { choice }),
    },
    addressed: true,
    named: true,
    teams: [payload.user?.team_id, teamOf(user)].filter((team) => team !== undefined),
    pressed: true,
  };
}

/** The workspace that an event is for: in a shared channel it names the other one first. */
export function teamsOf({ team_id, authorizations = [] }: EventPayload): readonly string[] {
  return [...authorizations.map((one) => one.team_id), team_id].filter((team) => team !== undefined);
}

const kindOf = (type: string): Media["kind"] => {
  if (/^image\/(?:png|jpeg|gif|webp)$/.test(type)) return "image";
  return type.startsWith("audio/") ? "audio" : type.startsWith("video/") ? "video" : "file";
};

function mediaOf(files: readonly WireFile[], account: string): Media[] {
  return files
    .filter(({ mode }) => mode !== "tombstone" && mode !== "hidden_by_limit")
    .map(({ id, name, title, mimetype, size }) => {
      const shown = name ?? title;
      return {
        kind: kindOf(mimetype ?? ""),
        // The address expires and may change: it is asked for when the bytes are.
        handle: `${account}/${id}`,
        ...(shown === undefined ? {} : { name: shown }),
        ...(mimetype === undefined ? {} : { type: mimetype }),
        ...(size === undefined ? {} : { size }),
      };
    });
}
