import { type ForgeEvent, type ForgeNote, type HttpRequest, svcError } from "@svc/sdk";
import {
  type ApiComment,
  type ApiIssue,
  type ApiRepository,
  type ApiReview,
  commitNote,
  descriptionNote,
  issueNote,
  projectOf,
  reviewBody,
  reviewNote,
  userOf,
} from "./notes.ts";

/** Used part of a payload. */
interface Payload {
  readonly action?: string;
  readonly comment?: ApiComment;
  readonly issue?: ApiIssue;
  readonly pull_request?: ApiIssue;
  readonly review?: ApiReview;
  readonly repository?: ApiRepository;
  readonly sender?: unknown;
  readonly changes?: { readonly body?: { readonly from?: string | null } };
}

/** Headers of the forge's own and their neutral names; two that differ cannot both be true. */
const EVENT = ["x-github-event", "x-forge-event"] as const;
const DELIVERY = ["x-github-delivery", "x-forge-delivery"] as const;

function oneOf(headers: HttpRequest["headers"], names: readonly string[]): string | undefined {
  const given = names.flatMap((name) => (typeof headers[name] === "string" ? [headers[name] as string] : []));
  if (new Set(given).size > 1) throw broken(`the headers ${names.join(" and ")} contradict each other`);
  return given[0];
}

/** The forge's name of a delivery, the same when it is sent again. */
export const deliveryId = (headers: HttpRequest["headers"]): string | undefined =>
  DELIVERY.map((name) => headers[name]).find((id): id is string => typeof id === "string");

const broken = (reason: string) => svcError("SVC_FORGE_PAYLOAD", `The delivery is no event of this forge: ${reason}.`, { status: 400 });

const ignored = (reason: string): ForgeEvent => ({ kind: "ignored", reason });

/** Actions that tell of new, changed and deleted words, by event. */
const ACTIONS: Readonly<Record<string, Readonly<Record<string, "new" | "changed" | "deleted">>>> = {
  issue_comment: { created: "new", edited: "changed", deleted: "deleted" },
  pull_request_review_comment: { created: "new", edited: "changed", deleted: "deleted" },
  pull_request_review: { submitted: "new", edited: "changed" },
  commit_comment: { created: "new" },
  issues: { opened: "new", edited: "changed", deleted: "deleted" },
  pull_request: { opened: "new", edited: "changed" },
};

/** Events after which the App may be installed elsewhere. */
export const INSTALLATIONS: ReadonlySet<string> = new Set(["installation", "installation_repositories"]);

/** The event that a delivery is of. */
export const eventOf = (headers: HttpRequest["headers"]): string | undefined => oneOf(headers, EVENT);

/** Parses a verified delivery. Throws with status 400 for a payload that the forge never sends. */
export function readHook(headers: HttpRequest["headers"], body: unknown): ForgeEvent {
  const event = eventOf(headers);
  if (event === undefined) throw broken("it has no header X-GitHub-Event");
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw broken("its body is no object");
  if (!Object.hasOwn(ACTIONS, event)) return ignored(event === "ping" ? "ping" : "kind");
  const payload = body as Payload;
  const { action = "", changes } = payload;
  const change = Object.hasOwn(ACTIONS[event] ?? {}, action) ? ACTIONS[event]?.[action] : undefined;
  if (change === undefined) return ignored("action");
  // A new title, say: the words are the same.
  if (change === "changed" && changes?.body === undefined) return ignored("action");
  let note: ForgeNote;
  try {
    note = noteOf(event, payload, change === "changed");
  } catch {
    throw broken(`${event} ${action} lacks what it is about`);
  }
  if (change === "deleted") return { kind: "deleted", place: note.place, note: { kind: note.kind, id: note.id } };
  const sender = userOf(payload.sender);
  const before = changes?.body?.from;
  return {
    kind: "notes",
    notes: [
      {
        ...note,
        edited: change === "changed",
        ...(change === "changed" && sender.id !== note.author.id ? { editor: sender } : {}),
        ...(change === "changed" ? { previousText: before ?? "" } : {}),
      },
    ],
  };
}

function noteOf(event: string, { comment, issue, pull_request: request, review, repository }: Payload, changed: boolean): ForgeNote {
  const project = projectOf(required(repository));
  if (event === "issue_comment") return issueNote(project, required(comment), required(issue));
  if (event === "pull_request_review_comment") return reviewNote(project, required(comment), required(request));
  if (event === "pull_request_review") return reviewBody(project, required(review), required(request), changed);
  if (event === "commit_comment") return commitNote(project, required(comment));
  return descriptionNote(project, required(event === "issues" ? issue : request), changed);
}

function required<T extends { readonly id: number }>(value: T | undefined): T {
  if (typeof value?.id !== "number") throw new Error("missing");
  return value;
}
