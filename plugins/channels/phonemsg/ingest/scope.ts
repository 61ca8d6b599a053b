import { digitsOf } from "../people.ts";
import type { IngestSettings } from "../settings.ts";
import type { KnownChat, KnownContact } from "./directory.ts";

/** A shorter text would fit almost everything: it allows only what it is the whole of. */
const LEAST_PART = 5;

type Lists = Pick<IngestSettings, "allowContacts" | "allowGroups" | "denyContacts" | "denyGroups">;

/** Whether a person may be read: by number, the platform's id, or the name that the owner of the phone saved; never by the name a person gives itself. */
export function contactAllowed(contact: Pick<KnownContact, "id" | "number" | "saved">, { allowContacts = [], denyContacts = [] }: Lists): boolean {
  const texts = [contact.id, contact.number ?? "", contact.saved ?? ""];
  return !denyContacts.some((entry) => denies(entry, texts)) && allowContacts.some((entry) => allows(entry, texts));
}

/** Whether a group may be read: by its name or id. */
export function groupAllowed(group: Pick<KnownChat, "id" | "name">, { allowGroups = [], denyGroups = [] }: Lists): boolean {
  const texts = [group.id, group.id.split("@")[0] ?? "", group.name ?? ""];
  return !denyGroups.some((entry) => denies(entry, texts)) && allowGroups.some((entry) => allows(entry, texts));
}

/** `+30 123` and `30123` are the same; names are compared without case. */
function plain(entry: string): string {
  return /^\+?[\d\s().-]+$/.test(entry) && /\d/.test(entry) ? digitsOf(entry) : entry.trim().toLowerCase();
}

const allows = (entry: string, texts: readonly string[]): boolean => {
  const wanted = plain(entry);
  return wanted !== "" && texts.some((text) => text.toLowerCase() === wanted || (wanted.length >= LEAST_PART && text.toLowerCase().includes(wanted)));
};

/** In doubt it is denied: a short text counts here. */
const denies = (entry: string, texts: readonly string[]): boolean => {
  const wanted = plain(entry);
  return wanted !== "" && texts.some((text) => text.toLowerCase().includes(wanted));
};
