import type { Inbound } from "@svc/sdk";
import { RE2JS } from "re2js";
import type { ServiceSettings, ServicesSettings, Trigger } from "./settings.ts";

/** Finds the service that a message starts; undefined: none. */
export type Matcher = (message: Inbound) => ServiceSettings | undefined;

/** Characters of the longest text that is looked at: the time is linear in it, for each pattern. */
export const LONGEST_TEXT = 100_000;

/**
 * The patterns of a configuration, compiled once, for matching in time linear in the text, whatever the pattern is: strangers write what
 * they are matched with. Throws the engine's error for a pattern that the check of the configuration does not take either.
 */
export function createMatcher(services: ServicesSettings): Matcher {
  const compiled = Object.values(services).map((service) => ({
    service,
    triggers: (service.triggers ?? []).map(({ pattern, ...trigger }) => ({ ...trigger, matches: compile(pattern) })),
    contacts: service.allowedContacts && new Set(service.allowedContacts),
  }));
  return ({ text, channel, sender }) => {
    if (text.length > LONGEST_TEXT) return undefined;
    const allowed = (contacts: ReadonlySet<string> | undefined) => contacts === undefined || (sender !== undefined && contacts.has(sender.id));
    const here = (trigger: Omit<Trigger, "pattern">) => trigger.channel === undefined || trigger.channel === channel;
    return compiled.find(({ contacts, triggers }) => allowed(contacts) && triggers.some((trigger) => here(trigger) && trigger.matches(text)))?.service;
  };
}

function compile(pattern: string): (text: string) => boolean {
  const expression = RE2JS.compile(RE2JS.translateRegExp(pattern), RE2JS.CASE_INSENSITIVE);
  // Not `matcher(text).find()`: without groups to report the engine needs no slow way.
  return (text) => expression.test(text);
}
