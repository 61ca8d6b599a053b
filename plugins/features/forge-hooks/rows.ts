import { createHash } from "node:crypto";
import type { Collection, ForgeNote, ForgePlace, ForgeProject, ForgeRight, ForgeUser, Queue, Store } from "@svc/sdk";

/** Rows are kept so long after their last change. */
export const KEPT_MS = 30 * 24 * 3_600_000;

/** A received delivery without a decision yet. */
export interface Incoming {
  readonly forge: string;
  readonly note?: ForgeNote;
  readonly deleted?: { readonly place: ForgePlace; readonly note: Pick<ForgeNote, "kind" | "id"> };
  readonly via: "hook" | "backfill";
  /** Number of failed tries. */
  readonly tries?: number;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Known state of an object with text: the names in its newest version. */
export interface SeenObject {
  readonly names: readonly string[];
  readonly hash: string;
  readonly updatedAt: number;
  readonly at: number;
}

/** State of the work on a note. */
export type RunState = "accepting" | "accepted" | "working" | "waiting" | "answered" | "silent" | "failed" | "stopped";

/** A step that the status comment shows. */
export interface RunStep {
  readonly name: string;
  readonly done: boolean;
}

/** One agent's work on one note. */
export interface Run {
  readonly id: string;
  readonly forge: string;
  readonly agent: string;
  readonly place: ForgePlace;
  readonly note: Pick<ForgeNote, "kind" | "id" | "url" | "author" | "title" | "createdAt" | "request"> & { readonly text: string };
  readonly asker: ForgeUser;
  readonly right: ForgeRight;
  readonly node?: string;
  /** The service comments. */
  readonly comments: boolean;
  /** Handles of the note's pictures. */
  readonly media: readonly { readonly handle: string; readonly name?: string; readonly kind: "image" | "file" }[];
  readonly askedBy?: string;
  readonly depth?: number;
  readonly state: RunState;
  readonly taskId?: string;
  readonly steps: readonly RunStep[];
  readonly stepCount: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Why there can be no comment (any more). */
  readonly mute?: string;
  readonly stoppedBy?: string;
  /** Digest of what the status comment shows, and when it was last written. */
  readonly shown?: string;
  readonly shownAt?: number;
  /** Results of its tool calls by tool and input: a repeated call is executed and counted once. */
  readonly acts?: Readonly<Record<string, string>>;
  /** 1 while the status comment may still change; for the index. */
  readonly live: 0 | 1;
  readonly at: number;
  /** Where the object stands, for deletion and stop. */
  readonly object: string;
  readonly thread: string;
}

/** A comment of ours: planned, posted, known by its id. */
export interface OwnComment {
  readonly nonce: string;
  readonly forge: string;
  readonly run: string;
  readonly agent: string;
  readonly place: ForgePlace;
  /** When the POST began whose answer is not known. */
  readonly posting?: number;
  readonly id?: string;
  readonly url?: string;
  /** `forge|project|id`, once it has an id. */
  readonly ref?: string;
  readonly at: number;
}

/** Why a note started nothing, or what it started. */
export interface Decision {
  readonly at: number;
  readonly forge: string;
  readonly url: string;
  readonly via: string;
  /** The agents that it started; empty where `reason` says why there are none. */
  readonly agents: readonly string[];
  readonly reason?: string;
}

/** Poll position in a list of a project. */
export interface Cursor {
  readonly since: number;
  readonly at: number;
}

/** Collections of the plugin. */
export interface Rows {
  readonly store: Store;
  readonly inbox: Queue<Incoming>;
  readonly objects: Collection<SeenObject>;
  readonly runs: Collection<Run>;
  readonly comments: Collection<OwnComment>;
  readonly cursors: Collection<Cursor>;
  readonly projects: Collection<ForgeProject & { readonly forge: string; readonly at: number }>;
  readonly paces: Collection<{ readonly times: readonly number[]; readonly restUntil: number; readonly at: number }>;
}

/** Names of the collections and queues, for commits. */
export const NAMES = { inbox: "inbox", status: "status", objects: "objects", runs: "runs", comments: "comments" } as const;

/** Opens the collections; cheap. */
export function openRows(store: Store): Rows {
  return {
    store,
    inbox: store.queue(NAMES.inbox),
    objects: store.collection(NAMES.objects, { indexes: ["at"] }),
    runs: store.collection(NAMES.runs, { indexes: ["live", "taskId", "object", "thread", "at"] }),
    comments: store.collection(NAMES.comments, { indexes: ["nonce", "ref", "run", "at"] }),
    cursors: store.collection("cursors"),
    projects: store.collection("projects"),
    paces: store.collection("paces"),
  };
}

/** An object of a forge: what one text stands in. */
export const objectKey = (forge: string, origin: string, place: ForgePlace, { kind, id }: Pick<ForgeNote, "kind" | "id">): string =>
  JSON.stringify([forge, origin, place.project.id, kind, kind === "description" ? `${place.kind}:${id}` : id]);

/** The run of an agent on an object: the same whatever delivery, list or edit tells of it. */
export const runId = (object: string, agent: string): string => `n_${digest(`${object} ${agent}`).slice(0, 24)}`;

/** Where answers are read together: a discussion, else the whole issue, request or commit. */
export const threadKey = (forge: string, origin: string, { project, kind, id, thread }: ForgePlace): string =>
  JSON.stringify([forge, origin, project.id, kind, id, thread ?? ""]);

/** A comment by its id. */
export const commentRef = (forge: string, place: ForgePlace, id: string): string => JSON.stringify([forge, place.project.id, id]);

/** Tells texts apart without keeping them. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

const SIGNS = { issue: "#", request: "!", commit: "@" } as const;

/** Returns the usual notation of a place: `group/project#12`, `!12` for a request, `@sha` for a commit. */
export const placeWords = ({ project, kind, id }: Pick<ForgePlace, "project" | "kind" | "id">): string => `${project.path}${SIGNS[kind]}${id}`;
