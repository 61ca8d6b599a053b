import { type HttpRequest, requireSignature, requireSignatureHeader, SIGNATURES, type SignatureScheme, svcError } from "@svc/sdk";
import { RESERVED_AGENT, type WebhookSettings } from "./settings.ts";

/** Ways of signing that senders have; one that GitLab calls a token is the secret itself. */
export const SCHEMES: readonly SignatureScheme[] = [SIGNATURES.forge, SIGNATURES.hub, SIGNATURES.standard, { token: "x-gitlab-token" }];

/** Target of a path. */
export interface WebhookTarget {
  readonly agentId: string;
  /** Enabled entries that the path reaches, in the order of the file. None: a caller on this machine, where no entry asks for a secret. */
  readonly entries: readonly WebhookSettings[];
  readonly source: string | undefined;
}

/** Entries and environment. */
export interface TargetFacts {
  readonly entries: () => readonly WebhookSettings[];
  readonly env: (name: string) => string | undefined;
  readonly hasAgent: (id: string) => boolean;
}

type UnreadRequest = Pick<HttpRequest, "params" | "headers" | "caller">;

/**
 * Returns the entries that a path reaches. Throws `SVC_WEBHOOK_UNKNOWN` (404) without one. From this machine an agent without any entry can be called
 * as well; an entry with a secret cannot be bypassed by another path of its agent.
 */
export function targetOf({ params, caller }: Pick<UnreadRequest, "params" | "caller">, { entries, hasAgent }: TargetFacts): WebhookTarget {
  const { agentId = "", source } = params;
  const ofAgent = entries().filter((entry) => entry.enabled && entry.agentId === agentId);
  const met = source === undefined ? ofAgent : ofAgent.filter((entry) => entry.source === source);
  const reserved = source === undefined && agentId === RESERVED_AGENT;
  const free = caller.local && ofAgent.length === 0 && hasAgent(agentId);
  if (reserved || (met.length === 0 && !free))
    throw svcError("SVC_WEBHOOK_UNKNOWN", "There is no webhook at this path; see svc webhook list.", { status: 404 });
  return { agentId, entries: met, source };
}

const secretOf = ({ secretEnv }: WebhookSettings, env: TargetFacts["env"]): string | undefined =>
  secretEnv === undefined || secretEnv === "" ? undefined : env(secretEnv);

/** Whether an entry asks for a secret, and has one. */
export function secretState(entry: WebhookSettings, env: TargetFacts["env"]): "none" | "set" | "missing" {
  if (entry.secretEnv === undefined) return "none";
  return secretOf(entry, env) === undefined ? "missing" : "set";
}

/** Entries with a secret among those of a path: as soon as there is one, the others are no way in either (HOOK-02). */
const guardedOf = ({ entries }: WebhookTarget) => entries.filter(({ secretEnv }) => secretEnv !== undefined);

/** Whether nothing has to be proved. */
export const isUnsigned = (target: WebhookTarget): boolean => guardedOf(target).length === 0;

/** Refuses, by the headers alone, a request that cannot be signed by a known secret. Throws 401. */
export async function requireCredentials(target: WebhookTarget, request: UnreadRequest, { env }: TargetFacts): Promise<void> {
  if (isUnsigned(target)) return;
  await requireSignatureHeader(
    request,
    guardedOf(target).map((entry) => secretOf(entry, env)),
    SCHEMES,
  );
}

/** The entry whose secret the sender knows; undefined where the path has none. Throws 401. */
export async function authenticate(
  target: WebhookTarget,
  request: Pick<HttpRequest, "raw" | "headers">,
  { env }: TargetFacts,
): Promise<WebhookSettings | undefined> {
  if (isUnsigned(target)) return target.entries[0];
  let refused: unknown;
  for (const entry of guardedOf(target)) {
    try {
      await requireSignature(request, secretOf(entry, env), SCHEMES);
      return entry;
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}
