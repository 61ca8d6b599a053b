import { createHash } from "node:crypto";
import type { KnownContact } from "./directory.ts";

/** Subject of an entry. */
export type EntryKind = "contact" | "group-meta" | "dm" | "group";

/** One raw entry of the wiki. */
export interface Entry {
  /** The file's name; the same for the same thing at all times. */
  readonly name: string;
  readonly kind: EntryKind;
  readonly text: string;
  /** Tells one content from another, without the date of writing. */
  readonly digest: string;
}

/** A group as it is written down. */
export interface Group {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly owner?: string;
  readonly members: readonly { readonly name: string; readonly admin: boolean }[];
}

/** A message as it is written down. */
export interface Line {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly from: string;
  readonly text: string;
}

const MEMBERS = 50;

/** A contact: one entry a person. */
export const contactEntry = (contact: KnownContact): Entry =>
  entry("contact", contact.id, displayName(contact), [
    `- Name: ${oneLine(displayName(contact))}`,
    ...(contact.number === undefined ? [] : [`- Number: +${contact.number}`]),
    ...(contact.push === undefined ? [] : [`- Calls itself: ${oneLine(contact.push)}`]),
    `- Id: ${contact.id}`,
  ]);

/** A group: one entry a group, with at most fifty members and a word about the others. */
export function groupEntry({ id, name, description, owner, members }: Group): Entry {
  const shown = members.slice(0, MEMBERS);
  const others = members.length - shown.length;
  const admins = members.slice(MEMBERS).filter(({ admin }) => admin).length;
  return entry("group-meta", id, name, [
    `- Name: ${oneLine(name)}`,
    `- Id: ${id}`,
    ...(owner === undefined ? [] : [`- Owner: ${oneLine(owner)}`]),
    `- Members: ${members.length}`,
    ...(description === undefined || description === "" ? [] : ["", "## Description", "", ...quoted(description)]),
    "",
    "## Members",
    "",
    ...shown.map((member) => `- ${oneLine(member.name)}${member.admin ? " (admin)" : ""}`),
    ...(others > 0 ? [`- and ${others} more${admins > 0 ? `, ${admins} of them admins` : ""}`] : []),
  ]);
}

/** The messages of a chat since the entry before. Named after the newest: the same messages make the same name, a new one another. */
export function messagesEntry(kind: "dm" | "group", chat: string, title: string, lines: readonly Line[]): Entry {
  const ordered = [...lines].sort((left, right) => left.at - right.at || (left.id < right.id ? -1 : 1));
  const newest = ordered.at(-1);
  return entry(
    kind,
    `${chat} ${newest?.id ?? ""}`,
    title,
    ordered.flatMap(({ at, from, text }) => [`### ${new Date(at).toISOString()} ${oneLine(from)}`, "", ...quoted(text), ""]),
  );
}

/** Returns a person's display name: as saved, as the person chose it, the number, the id. */
export const displayName = ({ saved, push, number, id }: KnownContact): string => saved ?? push ?? (number === undefined ? id : `+${number}`);

function entry(kind: EntryKind, id: string, title: string, body: readonly string[]): Entry {
  const text = [
    "---",
    `title: ${JSON.stringify(oneLine(title))}`,
    `source: phonemsg:${kind}`,
    `id: ${JSON.stringify(id)}`,
    "absorbed: false",
    "---",
    "",
    ...body,
    "",
  ].join("\n");
  const digest = createHash("sha256").update(text).digest("hex");
  return { name: `${kind}-${createHash("sha256").update(`${kind} ${id}`).digest("hex").slice(0, 20)}.md`, kind, text, digest };
}

/** Foreign text must not become a heading or a key of ours. */
const oneLine = (text: string): string =>
  text
    .replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
    .trim()
    .slice(0, 200);

const quoted = (text: string): string[] => text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => `> ${line}`);
