import type { Forge, ForgeAgent, ForgeNote, ForgeRight, ForgeUser } from "@svc/sdk";
import type { Shared } from "./connection.ts";
import { mentionsIn } from "./mentions.ts";
import type { OwnComments } from "./own-comments.ts";
import { digest, type Incoming, objectKey, runId, type SeenObject } from "./rows.ts";
import type { Standing } from "./standing.ts";

/** A person's command to existing runs, in place of a new one. */
export type Command = "stop" | "status";

/** Runs that a note starts, or why it starts none. */
export type Verdict =
  | { readonly reason: string; readonly seen?: SeenObject }
  /** To be decided later. */
  | { readonly waits: string }
  | { readonly starts: readonly ForgeAgent[]; readonly actor: ForgeUser; readonly right: ForgeRight; readonly seen: SeenObject }
  | { readonly command: Command; readonly agents: readonly string[]; readonly actor: ForgeUser; readonly right: ForgeRight; readonly seen: SeenObject };

/** Dependencies of the decision. */
export interface Deciding extends Shared {
  readonly comments: OwnComments;
  readonly standing: Standing;
}

/** An edit of a note that was never seen starts somebody only this long after the note was written. */
const UNSEEN_EDIT_MS = 600_000;
/** So often a right is asked for before the answer is taken for "may not write". */
const TRIES = 3;
/** A note that mentions unknown names alone waits this long for the forge to say whose each token is: one may be an agent's. */
const PENDING_MS = 3_600_000;
/** Notes that a list finds later than this are shown to the operator and not worked on. */
const OLD_MS = 24 * 3_600_000;

/**
 * Decides which agents a note addresses. Tests in order; the first that matches is the reason for none. The signature was verified before, and the
 * caller detects a run that exists already.
 */
export async function decide(
  deciding: Deciding,
  forge: Forge,
  note: ForgeNote,
  { via, tries: attempt = 1, at: receivedAt }: Pick<Incoming, "via" | "tries" | "at">,
  signal: AbortSignal,
): Promise<Verdict> {
  const { rows, comments, standing, markers } = deciding;
  const { place, author } = note;
  const agents = forge.agents(place.project);
  if (agents.length === 0) return { reason: "no agent is configured for this project" };
  if (note.system) return { reason: "system" };
  if (await comments.byRef(forge.name, place, note.id)) return { reason: "own comment" };
  const everyone = [...forge.agents(), ...agents];
  const isOwnUser = (user: ForgeUser) => everyone.some((one) => !one.shared && one.user?.id === user.id);
  if (isOwnUser(author)) return { reason: "own user" };
  const marker = markers.read(forge.name, forge.origin, place, note.text);
  if (marker !== undefined && everyone.some(({ user }) => user === undefined || user.id === author.id)) {
    const posted = await comments.byNonce(marker.nonce);
    // With another id it is a copy of that comment, and somebody's own words; one that is being posted has no id yet.
    if (posted !== undefined && (posted.id === undefined || posted.id === note.id)) return { reason: `signed by ${marker.agent}` };
  }
  const actor = note.edited ? (note.editor ?? author) : author;
  if (isOwnUser(actor)) return { reason: "own user" };
  const users = [author, ...(actor.id === author.id ? [] : [actor])];
  if (users.some(({ bot }) => bot === true)) return { reason: "bot" };

  const known = (await rows.objects.get(objectKey(forge.name, forge.origin, place, note)))?.value;
  if (known !== undefined && known.updatedAt > note.updatedAt) return { reason: "stale" };
  const mentions = mentionsIn(note.text, forge.grammar);
  const found = mentions.flatMap(({ name }) => agents.filter(({ names }) => names.some((one) => one.toLowerCase() === name)));
  const named = [...new Map(found.map((one) => [one.agent, one])).values()];
  const seen: SeenObject = { names: named.map(({ agent }) => agent), hash: digest(note.text), updatedAt: note.updatedAt, at: Date.now() };
  if (note.edited && known?.hash === seen.hash) return { reason: "edit without new words", seen };
  const command = commandIn(note.text);
  if (named.length === 0 && mentions.length > 0 && agents.some(({ pending }) => pending) && Date.now() - receivedAt < PENDING_MS)
    return { waits: "the forge has not said yet whose each token is" };
  if (named.length === 0 && command?.bare !== true) return { reason: "no agent is mentioned", seen };
  const before = note.edited ? earlierNames(note, known, via, forge, agents) : [];
  const fresh = before === "unseen" ? [] : named.filter(({ agent }) => !before.includes(agent));
  if (fresh.length === 0 && command?.bare !== true) return { reason: before === "unseen" ? "edit of an old note" : "edit that names nobody new", seen };
  if (via === "backfill" && Date.now() - note.createdAt > OLD_MS && !note.edited) return { reason: "older than a day", seen };

  // The forge is asked about those alone who ask for something.
  const bots = await Promise.all(users.map((user) => standing.isBot(forge, user, signal)));
  if (bots.includes(true)) return { reason: "bot", seen };
  const first = (fresh[0] ?? (agents[0] as ForgeAgent)).agent;
  const asked = await standing.right(forge, place.project, actor, first, signal, attempt < TRIES);
  if (asked === "none") return { reason: "outsider", seen };
  // A possible bot, and a request from a fork that strangers may write to, get read access only.
  const right = bots.includes(undefined) || note.request?.fork ? "report" : asked;
  if (command !== undefined && (command.bare || fresh.length > 0))
    return { command: command.name, agents: named.map(({ agent }) => agent), actor, right: asked, seen };
  return { starts: fresh, actor, right, seen };
}

/** Returns the names in the note before it was edited; `unseen` if they are not known any more. */
function earlierNames(
  note: ForgeNote,
  known: SeenObject | undefined,
  via: Incoming["via"],
  forge: Forge,
  agents: readonly ForgeAgent[],
): readonly string[] | "unseen" {
  if (note.previousText !== undefined) {
    const names = new Set(mentionsIn(note.previousText, forge.grammar).map(({ name }) => name));
    return agents.filter((one) => one.names.some((name) => names.has(name.toLowerCase()))).map(({ agent }) => agent);
  }
  if (known !== undefined) return known.names;
  // A list also reports notes that were written and edited while the daemon was down.
  return Date.now() - note.createdAt > (via === "backfill" ? OLD_MS : UNSEEN_EDIT_MS) ? "unseen" : [];
}

/** `/stop` and `/status` by themselves, `@agent stop` and `@agent status`. */
function commandIn(text: string): { readonly name: Command; readonly bare: boolean } | undefined {
  const [, slash, mention, name] = /^\s*(?:(\/)|((?:@[\w.-]+(?:\[bot\])?[\s,:]+){1,5}\/?))(stop|status)[\s.!]*$/i.exec(text.slice(0, 1_000)) ?? [];
  if (name === undefined) return undefined;
  return { name: name.toLowerCase() as Command, bare: slash !== undefined && mention === undefined };
}

/** The key of the run of an agent on a note. */
export const runKey = (forge: Forge, note: Pick<ForgeNote, "place" | "kind" | "id">, agent: string): string =>
  runId(objectKey(forge.name, forge.origin, note.place, note), agent);
