import type { Channel, Outgoing, Receipt } from "./channel.ts";
import type { HttpRequest } from "./http.ts";
import type { Media } from "./messages.ts";
import type { SignatureScheme } from "./signed.ts";

/**
 * Code forges: issues, requests and commits on which people write to agents. A channel plugin speaks the API of one forge as a `Forge` and
 * connects it with the service `forges`, which receives the webhooks, finds who is asked, keeps order and limits, shows one comment a task,
 * and finds what was missed.
 */
export interface Forges {
  /** From `start` of the channel plugin. Throws `SVC_FORGE_CONNECTED` when a forge of that name is there, `SVC_SERVER_PORT` when the receiver's port is taken. */
  connect(forge: Forge): Promise<ForgeHandle>;
}

/** What the channel plugin hands its channel's calls on to. */
export interface ForgeHandle extends Required<Pick<Channel, "react" | "fetchMedia">> {
  send(out: Outgoing, signal: AbortSignal): Promise<Receipt>;
  /** The forge answers (again): what was missed is looked for. */
  ready(): void;
  /** Ends it: deliveries are refused, nothing more is asked of the forge. From `stop`. */
  disconnect(): Promise<void>;
}

/** A user of a forge. `id` is the forge's number as a string; `login` as the forge writes it. */
export interface ForgeUser {
  readonly id: string;
  readonly login: string;
  readonly name?: string;
  /** The forge says that it is a bot, or that it is none; absent where it does not say (`Forge.isBot` is asked). */
  readonly bot?: boolean;
}

/** A project or repository. */
export interface ForgeProject {
  readonly id: string;
  /** `group/project`, `owner/repository`. */
  readonly path: string;
  readonly private: boolean;
}

/** Where a comment stands or goes. Plain JSON; it is stored. */
export interface ForgePlace {
  readonly project: ForgeProject;
  /** `request`: a merge or pull request. */
  readonly kind: "issue" | "request" | "commit";
  /** The number people see, or the commit's SHA. */
  readonly id: string;
  /** The discussion or the review comment's root, as the adapter names it; absent for what answers the issue or request itself. */
  readonly thread?: string;
  /** Only members see it: an answer must not be seen by more. */
  readonly internal?: true;
  /** Of a review or commit comment. */
  readonly position?: ForgePosition;
  /** The adapter's own, for what it needs to answer there. */
  readonly raw?: unknown;
}

/** A line that a comment is about. `raw` is the adapter's own, to answer at the same line. */
export interface ForgePosition {
  readonly path: string;
  readonly line?: number;
  readonly side?: "old" | "new";
  readonly sha?: string;
  readonly raw?: unknown;
}

/** What a text on a forge is. `description`: that of the issue or request itself. Part of the key of a run. */
export type ForgeNoteKind = "note" | "review-note" | "review" | "commit-note" | "description";

/** A text that somebody wrote on a forge, as a hook or a list tells it. Plain JSON; it is stored. */
export interface ForgeNote {
  readonly place: ForgePlace;
  readonly kind: ForgeNoteKind;
  /** The forge's id of this object; of a description the or request's. */
  readonly id: string;
  readonly author: ForgeUser;
  /** Who changed it last, where somebody else did. */
  readonly editor?: ForgeUser;
  readonly text: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** It was there before and its text has changed. */
  readonly edited: boolean;
  /** The text before, where the forge tells it. */
  readonly previousText?: string;
  /** Written by the forge itself ("closed", "assigned"). */
  readonly system?: true;
  /** Where people read it. */
  readonly url: string;
  /** Of the issue or request. */
  readonly title?: string;
  /** The branches of a request. `fork`: what is proposed comes from a copy that strangers may write to. */
  readonly request?: { readonly source: string; readonly target: string; readonly fork?: true };
}

/** What a webhook delivery is about. `ignored` names the reason: a kind of event, or an action, that starts nothing. */
export type ForgeEvent =
  | { readonly kind: "notes"; readonly notes: readonly ForgeNote[] }
  | { readonly kind: "deleted"; readonly place: ForgePlace; readonly note: Pick<ForgeNote, "kind" | "id"> }
  | { readonly kind: "ignored"; readonly reason: string };

/** An agent as a forge knows it. */
export interface ForgeAgent {
  readonly agent: string;
  /** By which it is mentioned, without `@`, in any case: the user its token belongs to, configured names, an app's bare slug. */
  readonly names: readonly string[];
  /** Whose words its comments are; absent while the token's owner is not known. */
  readonly user?: ForgeUser;
  /** That user is a person's, or several agents': its comments are told apart by their marker alone. */
  readonly shared: boolean;
  /** What names the token and says nothing of it: agents with the same one share its limits. */
  readonly token: string;
  /** It lives on this other node. */
  readonly node?: string;
  /** The service comments for it (the forge's `autoReplyLegacy`, before `agents.<id>.forgeAutoReply`). */
  readonly autoReply: boolean;
}

/** How a forge reads `@name`. Characters are given as the inside of a character class of ASCII. */
export interface MentionGrammar {
  /** The first, the further and the last character of a name. */
  readonly first: string;
  readonly rest: string;
  readonly last: string;
  /** What follows a name and makes it another thing: `/` for the path of a group. */
  readonly notBefore: string;
  /** What stands before `@` and keeps it from being a mention, besides letters and digits. */
  readonly notAfter: string;
  /** Ends of names that are files: `.git`. */
  readonly suffixes: readonly string[];
  /** A dot and a word behind a name belong to it: `@name.org` is no mention of `name`. */
  readonly dotted: boolean;
  /** Lines `>>>` begin and end a quote. */
  readonly fencedQuotes: boolean;
}

/** What a forge takes in a time, of one token. */
export interface ForgeLimits {
  /** The longest text of a comment that is sent; the rest goes into a further one. */
  readonly maxChars: number;
  readonly contentPerMinute: number;
  readonly contentPerHour?: number;
}

/** How a delivery of this forge is proved and where it comes in: `POST /webhook/<name>` of the server `forge`. */
export interface ForgeWebhook {
  readonly schemes: readonly SignatureScheme[];
  /** Those that count now. None: everything is refused. */
  secrets(): readonly string[];
  /** The setting that is to hold one, for the warning: `channels.acme.webhookSecret`. */
  readonly setting: string;
  /** The receiver's port, where this forge's section names one; the default is 18810. */
  readonly port?: number;
  /** The address it listens on, likewise. */
  readonly host?: string;
  /** The sender's name of a delivery, for the log. */
  deliveryId?(headers: HttpRequest["headers"]): string | undefined;
}

/** As whom a call is made: with the token of that agent. */
export interface ForgeCaller {
  readonly agent: string;
}

/** A comment as the forge has it. */
export interface ForgeComment {
  readonly id: string;
  readonly text: string;
  readonly author: ForgeUser;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly url?: string;
}

/** Answered by what makes something that people can look at. */
export interface ForgeLink {
  readonly id: string;
  readonly url?: string;
}

/** What a member may do. `report`: read. `none`: an outsider. */
export type ForgeRight = "write" | "report" | "none";

/** A list of changed notes. `project`: asked for each project; else once. */
export interface ForgeList {
  readonly name: string;
  readonly of: "project" | "forge";
  /** Costs little: also asked in the regular look every 15 minutes. */
  readonly quick: boolean;
}

/** What `Forge.changed` is asked. */
export interface ForgeChanges {
  readonly list: string;
  /** For lists of a project. */
  readonly project?: ForgeProject;
  /** Unix milliseconds; what changed at or after it. */
  readonly since: number;
}

/** A request (merge, pull) that an agent opens. */
export interface ForgeRequestDraft {
  readonly title: string;
  readonly text: string;
  readonly source: string;
  /** The default branch when absent. */
  readonly target?: string;
  readonly draft?: boolean;
}

/** A review that an agent gives. */
export interface ForgeReviewDraft {
  readonly verdict: "comment" | "approve" | "request_changes";
  readonly text: string;
  readonly comments?: readonly { readonly path: string; readonly line: number; readonly side?: "old" | "new"; readonly text: string }[];
}

/**
 * The API of one forge: calls and shapes, no policy. A call that fails throws `channelError`: `retry` (with `retryAfterMs` where the forge
 * names a time; the token rests), `permanent` (it is gone or may not: 403, 404, 410, 422), `unknown` (it may have happened: a cut
 * connection, 5xx). Tokens go to the forge's own origin alone.
 */
export interface Forge {
  /** Also the channel's name and the end of the webhook's path. */
  readonly name: string;
  /** Scheme, host and port of the forge: part of marker and key of a run. */
  readonly origin: string;
  readonly grammar: MentionGrammar;
  readonly limits: ForgeLimits;
  readonly webhook: ForgeWebhook;
  /** For backfill, in the order in which they are asked. */
  readonly lists: readonly ForgeList[];

  /** What a verified delivery is about: no I/O. Throws an error of status 400 where the body is not a payload of this forge. */
  read(headers: HttpRequest["headers"], body: unknown): ForgeEvent;
  /** Agents that may be mentioned in a project, with its routes applied; without one, all agents that have a token here. */
  agents(project?: ForgeProject): readonly ForgeAgent[];
  /** Asked where `ForgeUser.bot` is absent. */
  isBot(user: ForgeUser, signal: AbortSignal): Promise<boolean>;
  /** `as` may be any agent of the project. */
  right(project: ForgeProject, user: ForgeUser, as: ForgeCaller, signal: AbortSignal): Promise<ForgeRight>;
  /** The note with what its hook left out (its thread, branches, title); itself where nothing is missing; undefined when it is gone. */
  complete(note: ForgeNote, as: ForgeCaller, signal: AbortSignal): Promise<ForgeNote | undefined>;

  /** Not idempotent: the caller looks for what it may have posted with `comments`. `reply` is the note that is answered. */
  post(
    place: ForgePlace,
    text: string,
    as: ForgeCaller,
    options: { readonly reply?: Pick<ForgeNote, "kind" | "id" | "url"> },
    signal: AbortSignal,
  ): Promise<ForgeLink>;
  edit(place: ForgePlace, id: string, text: string, as: ForgeCaller, signal: AbortSignal): Promise<void>;
  /** Comments and reviews of the place (its thread, where it has one) of any author since then; also by `as` alone where the forge can tell. */
  comments(place: ForgePlace, since: number, as: ForgeCaller, signal: AbortSignal): Promise<readonly ForgeComment[]>;
  /** An eye on the note. Resolves too when it is there already, or when such a note takes none. */
  eye(place: ForgePlace, note: Pick<ForgeNote, "kind" | "id">, as: ForgeCaller, signal: AbortSignal): Promise<void>;

  /** Pictures and files of the note that stand on the forge itself, each with a `handle` for `download`; no I/O. */
  media(note: ForgeNote): readonly Media[];
  /** At most `maxBytes`; over redirects the token stays with the forge. */
  download(handle: string, as: ForgeCaller, maxBytes: number, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;

  /** Projects that the configuration names, resolved; others are known from their deliveries. */
  projects(signal: AbortSignal): Promise<readonly ForgeProject[]>;
  /** Oldest first. A list of deliveries that are asked to be sent again yields none. */
  changed(query: ForgeChanges, signal: AbortSignal): AsyncIterable<ForgeNote>;

  /** Only labels that the project has; `permanent` names those that it has not. */
  label(
    place: ForgePlace,
    change: { readonly add: readonly string[]; readonly remove: readonly string[] },
    as: ForgeCaller,
    signal: AbortSignal,
  ): Promise<void>;
  /** Answers the open request of the same branches where there is one. */
  openRequest(project: ForgeProject, draft: ForgeRequestDraft, as: ForgeCaller, signal: AbortSignal): Promise<ForgeLink & { readonly number: string }>;
  review(place: ForgePlace, draft: ForgeReviewDraft, as: ForgeCaller, signal: AbortSignal): Promise<ForgeLink>;
  /** Tokens and keys of this forge that must not stand in a comment. */
  secrets?(): readonly string[];
  /** The address in which people read a comment, for links. */
  url(place: ForgePlace, commentId?: string): string;
}
