import { digitsOf, type Known } from "./people.ts";
import type { Route, Settings } from "./settings.ts";

/** Shorter texts would fit almost everybody: they count only where they are the whole. */
const LEAST_PART = 5;

/** Whether an entry of a list means this person: the same number with or without `+`, or a part of it from five digits on, or the platform's id. */
export function means(entry: string, { id, number }: Known): boolean {
  if (entry.includes("@")) return entry === id;
  const digits = digitsOf(entry);
  if (digits === "" || number === undefined) return false;
  return digits === number || (digits.length >= LEAST_PART && number.includes(digits));
}

/** Why a sender is not heard; undefined for one who is. */
export function refusalOf(sender: Known, allowFrom: readonly string[] | undefined): string | undefined {
  if (allowFrom === undefined || allowFrom.length === 0) return `no allowFrom list is set (the sender is ${sender.number ?? sender.id})`;
  return allowFrom.some((entry) => means(entry, sender)) ? undefined : `the sender ${sender.number ?? sender.id} is not in allowFrom`;
}

/** Whether a text is part of a group's name, in any case, or its id. */
export const isGroupMeant = (part: string, group: string, name: string | undefined): boolean =>
  part === group || part === group.split("@")[0] || (name ?? "").toLowerCase().includes(part.toLowerCase());

/**
 * The agent of a message: that of the first route that fits, else the default one. In a group a route fits by the group, and with a contact
 * only what that person writes there; without a group it fits direct messages alone.
 */
export function agentFor({ routes = [], defaultAgent }: Pick<Settings, "routes" | "defaultAgent">, from: From): string | undefined {
  return routes.find((route) => fits(route, from))?.agent ?? defaultAgent;
}

/** Where a message comes from. */
export interface From {
  readonly sender: Known;
  /** The group's address, and its name where it has been told. */
  readonly group?: string;
  readonly groupName?: string;
}

function fits({ contact, group }: Route, { sender, group: address, groupName }: From): boolean {
  if (contact === undefined && group === undefined) return false;
  if ((group === undefined) !== (address === undefined)) return false;
  if (group !== undefined && !isGroupMeant(group, address as string, groupName)) return false;
  return contact === undefined || (contact.includes("@") ? contact === sender.id : digitsOf(contact) === sender.number);
}
