import type { Inbound, People, Rejection } from "@svc/sdk";

/** The variable that switches the gate on, with this one value (CFG-22). */
export const GATE_VARIABLE = "INTENT_PM_GATE_ENABLED";
/** Whether a value of the variable switches the gate on: `true` does, and nothing else. */
export const isGateOn = (value: string | undefined): boolean => value === "true";

/** Dependencies of the gate. */
export interface GateDeps {
  readonly people: Pick<People, "project" | "whois">;
  isAgent(id: string): boolean;
}

/** Decision of the gate about a message: `pass` if it does not apply, else the project manager, or why there is none. */
export type Verdict = { readonly pass: true } | { readonly pm: string } | Rejection;

/**
 * A message of a contact of a project belongs to the project's manager, whichever agent it addresses. Work that an agent hands on is not
 * looked at: the manager hands out what others do.
 */
export function judge({ channel, chat, sender, options }: Inbound, { people, isAgent }: GateDeps): Verdict {
  if (options?.askedBy !== undefined) return { pass: true };
  const { project } =
    people.whois({
      channel,
      chat,
      ...(sender === undefined ? {} : { sender: sender.id, ...(sender.handle === undefined ? {} : { username: sender.handle }) }),
    }) ?? {};
  if (project === undefined) return { pass: true };
  const { pm } = people.project(project) ?? {};
  if (pm === undefined) return { reject: `the project '${project}' has no manager; set pm of it in business.projects` };
  if (!isAgent(pm)) return { reject: `the manager of the project '${project}', '${pm}', is no agent here; set pm of it in business.projects to one` };
  return { pm };
}
