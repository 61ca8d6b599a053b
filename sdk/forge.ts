import type { Channel, Outgoing, Receipt } from "./channel.ts";
import type { HttpRequest } from "./http.ts";
import type { Media } from "./messages.ts";
import type { SignatureScheme } from "./signed.ts";

/**
 * Code forges: issues, requests and commits on which people write to agents. A channel plugin speaks the API of one forge as a `Forge` and connects
 * it with the service `forges`, which receives the webhooks, finds the mentioned agents, keeps order and limits, shows one comment a task, and polls
 * for missed events.
 */
export interface Forges {
  /**
   * Call it from `start` of the channel plugin. Throws `SVC_FORGE_CONNECTED` when a forge of that name is connected already, `SVC_SERVER_PORT` when
   * the receiver's port is taken.
   */
  connect(forge: Forge): Promise<ForgeHandle>;
}

/** Functions to which the channel plugin delegates its channel's calls. */
export interface ForgeHandle extends Required<Pick<Channel, "react" | "fetchMedia">> {
  send(out: Outgoing, signal: AbortSignal): Promise<Receipt>;
  /** Reports that the forge answers (again): missed events are looked for. */
  ready(): void;
  /** Disconnects: deliveries are refused, no request is sent to the forge. Call it from `stop`. */
  disconnect(): Promise<void>;
}

/** A user of a forge. `id` is the forge's number as a string; `login` as the forge writes it. */
export interface ForgeUser {
  readonly id: string;
  readonly login: string;
  readonly name?: string;
  /** The forge's statement whether the user is a bot; absent where it makes none (`Forge.isBot` is called). */
  readonly bot?: boolean;
}

/** A project or repository. */
export interface ForgeProject {
  readonly id: string;
  /** `group/project`, `owner/repository`. */
  readonly path: string;
  readonly private: boolean;
}

/** Location of a comment. Plain JSON; it is stored. */
export interface ForgePlace {
  readonly project: ForgeProject;
  /** `request`: a merge or pull request. */
  readonly kind: "issue" | "request" | "commit";
  /** The number people see, or the commit's SHA. */
  readonly id: string;
  /** The discussion or the review comment's root, under the adapter's own name; absent for a comment on the issue or request itself. */
  readonly thread?: string;
  /** Only members see it: an answer must not be seen by more. */
  readonly internal?: true;
  /** Of a review or commit comment. */
  readonly position?: ForgePosition;
  /** Opaque value of the adapter, with the data for answering there. */
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

/** Kind of a text on a forge. `description`: the text of the issue or request itself. Part of the key of a run. */
export type ForgeNoteKind = "note" | "review-note" | "review" | "commit-note" | "description";

/** A text that a person wrote on a forge, from a webhook or a list. Plain JSON; it is stored. */
export interface ForgeNote {
  readonly place: ForgePlace;
  readonly kind: ForgeNoteKind;
  /** The forge's id of this object; of a description the or request's. */
  readonly id: string;
  readonly author: ForgeUser;
  /** The last editor, if not the author. */
  readonly editor?: ForgeUser;
  readonly text: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The text existed before and has changed. */
  readonly edited: boolean;
  /** The previous text, if the forge reports it. */
  readonly previousText?: string;
  /** Written by the forge itself ("closed", "assigned"). */
  readonly system?: true;
  /** Where people read it. */
  readonly url: string;
  /** Of the issue or request. */
  readonly title?: string;
  /** Branches of a request. `fork`: the source is in a fork that strangers may write to. */
  readonly request?: { readonly source: string; readonly target: string; readonly fork?: true };
}

/** Content of a webhook delivery. `ignored` names the reason: a kind of event, or an action, that starts nothing. */
export type ForgeEvent =
  | { readonly kind: "notes"; readonly notes: readonly ForgeNote[] }
  | { readonly kind: "deleted"; readonly place: ForgePlace; readonly note: Pick<ForgeNote, "kind" | "id"> }
  | { readonly kind: "ignored"; readonly reason: string };

/** An agent as a forge knows it. */
export interface ForgeAgent {
  readonly agent: string;
  /** Names by which the agent is mentioned, without `@`, case-insensitive: the user of its token, configured names, an app's bare slug. */
  readonly names: readonly string[];
  /** Author of the agent's comments; absent while the token's user is not known. */
  readonly user?: ForgeUser;
  /** The forge has not answered yet whose the token is, so that `names` may lack one: notes that mention an unknown name wait for it, up to an hour. */
  readonly pending?: true;
  /** That user is a person's, or several agents': the agent's comments are recognised by their marker alone. */
  readonly shared: boolean;
  /** Name of the token, without revealing it: agents with the same one share its limits. */
  readonly token: string;
  /** The agent lives on this other node. */
  readonly node?: string;
  /** The service comments for it (the forge's `autoReplyLegacy`, before `agents.<id>.forgeAutoReply`). */
  readonly autoReply: boolean;
}

/** Grammar of `@name` on a forge. Characters are given as the inside of a character class of ASCII. */
export interface MentionGrammar {
  /** The first, the further and the last character of a name. */
  readonly first: string;
  readonly rest: string;
  readonly last: string;
  /** Characters after a name that make it something else: `/` for the path of a group. */
  readonly notBefore: string;
  /** Characters before `@` that prevent a mention, besides letters and digits. */
  readonly notAfter: string;
  /** Ends of names that are files: `.git`. */
  readonly suffixes: readonly string[];
  /** A dot and a word after a name belong to it: `@name.org` does not mention `name`. */
  readonly dotted: boolean;
  /** Lines `>>>` begin and end a quote. */
  readonly fencedQuotes: boolean;
}

/** Rate limits of a forge for one token. */
export interface ForgeLimits {
  /** Maximum length of a comment; the rest goes into a further one. */
  readonly maxChars: number;
  readonly contentPerMinute: number;
  readonly contentPerHour?: number;
}

/** Verification and address of the forge's webhook: `POST /webhook/<name>` of the server `forge`. */
export interface ForgeWebhook {
  readonly schemes: readonly SignatureScheme[];
  /** The currently valid secrets. Empty: every delivery is refused. */
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

/** Identity for a call: the agent whose token is used. */
export interface ForgeCaller {
  readonly agent: string;
}

/** A comment on the forge. */
export interface ForgeComment {
  readonly id: string;
  readonly text: string;
  readonly author: ForgeUser;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly url?: string;
}

/** A created object that people can open. */
export interface ForgeLink {
  readonly id: string;
  readonly url?: string;
}

/** Rights of a member. `report`: read. `none`: an outsider. */
export type ForgeRight = "write" | "report" | "none";

/** A list of changed notes. `project`: read for each project; else once. */
export interface ForgeList {
  readonly name: string;
  readonly of: "project" | "forge";
  /** The list is cheap: also read in the regular poll every 15 minutes. */
  readonly quick: boolean;
}

/** Query of `Forge.changed`. */
export interface ForgeChanges {
  readonly list: string;
  /** For lists of a project. */
  readonly project?: ForgeProject;
  /** Unix milliseconds; lists changes at or after it. */
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
 * The API of one forge: calls and shapes, no policy. A failed call throws `channelError`: `retry` (with `retryAfterMs` if the forge names a time; the
 * token pauses), `permanent` (missing or forbidden: 403, 404, 410, 422), `unknown` (it may have succeeded: a cut connection, 5xx). Tokens are only
 * sent to the forge's own origin.
 */
export interface Forge {
  /** Also the channel's name and the end of the webhook's path. */
  readonly name: string;
  /** Scheme, host and port of the forge: part of marker and key of a run. */
  readonly origin: string;
  readonly grammar: MentionGrammar;
  readonly limits: ForgeLimits;
  readonly webhook: ForgeWebhook;
  /** Lists for backfill, in the order in which they are read. */
  readonly lists: readonly ForgeList[];

  /** Parses a verified delivery: no I/O. Throws an error of status 400 if the body is not a payload of this forge. */
  read(headers: HttpRequest["headers"], body: unknown): ForgeEvent;
  /** Agents that may be mentioned in a project, with its routes applied; without one, all agents that have a token here. */
  agents(project?: ForgeProject): readonly ForgeAgent[];
  /** Called if `ForgeUser.bot` is absent. */
  isBot(user: ForgeUser, signal: AbortSignal): Promise<boolean>;
  /** `as` may be any agent of the project. */
  right(project: ForgeProject, user: ForgeUser, as: ForgeCaller, signal: AbortSignal): Promise<ForgeRight>;
  /** Resolves with the note, completed by the fields that its webhook left out (its thread, branches, title); undefined when it no longer exists. */
  complete(note: ForgeNote, as: ForgeCaller, signal: AbortSignal): Promise<ForgeNote | undefined>;

  /** Not idempotent: the caller looks for an earlier attempt with `comments`. `reply` is the note that is answered. */
  post(
    place: ForgePlace,
    text: string,
    as: ForgeCaller,
    options: { readonly reply?: Pick<ForgeNote, "kind" | "id" | "url"> },
    signal: AbortSignal,
  ): Promise<ForgeLink>;
  edit(place: ForgePlace, id: string, text: string, as: ForgeCaller, signal: AbortSignal): Promise<void>;
  /** Comments and reviews of the place (its thread, if it has one) of any author since then; only those of `as` if the forge can filter by author. */
  comments(place: ForgePlace, since: number, as: ForgeCaller, signal: AbortSignal): Promise<readonly ForgeComment[]>;
  /** Adds an eyes reaction to the note. Resolves too when it exists already, or when such a note accepts no reactions. */
  eye(place: ForgePlace, note: Pick<ForgeNote, "kind" | "id">, as: ForgeCaller, signal: AbortSignal): Promise<void>;

  /** Pictures and files of the note that are stored on the forge itself, each with a `handle` for `download`; no I/O. */
  media(note: ForgeNote): readonly Media[];
  /** At most `maxBytes`; over redirects the token stays with the forge. */
  download(handle: string, as: ForgeCaller, maxBytes: number, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;

  /** Projects that the configuration names, resolved; others are known from their deliveries. */
  projects(signal: AbortSignal): Promise<readonly ForgeProject[]>;
  /** Oldest first. Empty for the list of deliveries, which are requested again instead. */
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
  /** Tokens and keys of this forge that must not appear in a comment. */
  secrets?(): readonly string[];
  /** The address in which people read a comment, for links. */
  url(place: ForgePlace, commentId?: string): string;
}
