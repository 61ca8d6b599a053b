import { type HttpRequest, requireSignature, requireSignatureHeader, SIGNATURES, type SignatureScheme, svcError } from "@svc/sdk";
import { RESERVED_AGENT, type WebhookSettings } from "./settings.ts";

/** Ways of signing that senders have; one that GitLab calls a token is the secret itself. */
export const SCHEMES: readonly SignatureScheme[] = [SIGNATURES.forge, SIGNATURES.hub, SIGNATURES.standard, { token: "x-gitlab-token" }];

/** Who may be meant by a path, and what must be proved. */
export interface Door {
  readonly agentId: string;
  /** Enabled entries that the path reaches, in the order of the file. None: a caller on this machine, where no entry asks for a secret. */
  readonly entries: readonly WebhookSettings[];
  readonly source: string | undefined;
}

/** What the entries and the environment say. */
export interface DoorFacts {
  readonly entries: () => readonly WebhookSettings[];
  readonly env: (name: string) => string | undefined;
  readonly hasAgent: (id: string) => boolean;
}

type Knock = Pick<HttpRequest, "params" | "headers" | "caller">;

/**
 * The entries that a path reaches. Throws `SVC_WEBHOOK_UNKNOWN` (404) where there is none. From this machine an agent without any entry can
 * be called as well; an entry with a secret is never gone round by another path of its agent.
 */
export function doorOf({ params, caller }: Pick<Knock, "params" | "caller">, { entries, hasAgent }: DoorFacts): Door {
  const { agentId = "", source } = params;
  const ofAgent = entries().filter((entry) => entry.enabled && entry.agentId === agentId);
  const met = source === undefined ? ofAgent : ofAgent.filter((entry) => entry.source === source);
  const reserved = source === undefined && agentId === RESERVED_AGENT;
  const free = caller.local && ofAgent.length === 0 && hasAgent(agentId);
  if (reserved || (met.length === 0 && !free))
    throw svcError("SVC_WEBHOOK_UNKNOWN", "There is no webhook at this path; see svc webhook list.", { status: 404 });
  return { agentId, entries: met, source };
}

const secretOf = ({ secretEnv }: WebhookSettings, env: DoorFacts["env"]): string | undefined =>
  secretEnv === undefined || secretEnv === "" ? undefined : env(secretEnv);

/** Whether an entry asks for a secret, and has one. */
export function secretState(entry: WebhookSettings, env: DoorFacts["env"]): "none" | "set" | "missing" {
  if (entry.secretEnv === undefined) return "none";
  return secretOf(entry, env) === undefined ? "missing" : "set";
}

/** Entries with a secret among those of a path: as soon as there is one, the others are no way in either (HOOK-02). */
const guardedOf = ({ entries }: Door) => entries.filter(({ secretEnv }) => secretEnv !== undefined);

/** Whether nothing has to be proved. */
export const isOpen = (door: Door): boolean => guardedOf(door).length === 0;

/** What the headers decide, before the body is read. Throws 401. */
export async function requireKnock(door: Door, request: Knock, { env }: DoorFacts): Promise<void> {
  if (isOpen(door)) return;
  await requireSignatureHeader(
    request,
    guardedOf(door).map((entry) => secretOf(entry, env)),
    SCHEMES,
  );
}

/** The entry whose secret the sender knows; undefined where the path has none. Throws 401. */
export async function entered(door: Door, request: Pick<HttpRequest, "raw" | "headers">, { env }: DoorFacts): Promise<WebhookSettings | undefined> {
  if (isOpen(door)) return door.entries[0];
  let refused: unknown;
  for (const entry of guardedOf(door)) {
    try {
      await requireSignature(request, secretOf(entry, env), SCHEMES);
      return entry;
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}
