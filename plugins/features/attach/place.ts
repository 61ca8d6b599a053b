import { svcError } from "@svc/sdk";
import type { Attached, Sessions } from "./sessions.ts";

/** A caller's claims about its process, compared with the processes that hooks have reported. */
export interface Claims {
  readonly pid?: number;
  readonly session?: string;
}

/**
 * The session that a caller belongs to: by its process first, since a tool server outlives the id that it was started with; else by the
 * id, where one process shows it. Throws `SVC_ATTACH_SESSION`, which says to a model what to do.
 */
export async function placeOf(sessions: Sessions, { pid, session }: Claims): Promise<Attached> {
  const own = pid === undefined ? undefined : await sessions.ofProcess(pid);
  if (own !== undefined) return own;
  const shown = session === undefined ? [] : await sessions.ofSession(session);
  if (shown.length === 1) return shown[0] as Attached;
  if (shown.length > 1) {
    throw svcError(
      "SVC_ATTACH_SESSION",
      `Session ${session} is open in ${shown.length} programs: call from within the one that is meant, or close the others.`,
      {
        status: 409,
      },
    );
  }
  throw svcError(
    "SVC_ATTACH_SESSION",
    "No session is known for this program. Set the hooks up once with: svc attach install. Then send one prompt in the session, and try again.",
    { status: 404 },
  );
}

/** The session that wears the agent. Throws `SVC_ATTACH_UNBOUND`. */
export async function wearerOf(sessions: Sessions, agent: string): Promise<Attached> {
  const binding = await sessions.bindingOf(agent);
  const process = binding === undefined ? undefined : await sessions.get(binding.value.process);
  if (process === undefined) throw svcError("SVC_ATTACH_UNBOUND", `No session wears '${agent}'; see svc attach list.`, { status: 409 });
  return process;
}
