import { type HttpRequest, type HttpRoute, reasonOf, requireSignature, requireSignatureHeader, SIGNATURES, type SignatureScheme, svcError } from "@svc/sdk";
import { readSynced } from "./synced-message.ts";
import type { Triage } from "./triage.ts";

/** Dependencies of the receiver. */
export interface ReceiverDeps {
  /** The secret that the settings name; undefined where its variable is not set. */
  secret(): string | undefined;
  readonly triage: Pick<Triage, "take">;
  refused(reason: string, address: string): void;
}

const MAX_BYTES = 1_048_576;
/** `wacli sync --webhook-secret` signs so; other tools may sign as webhooks of svc are signed. */
const SCHEMES: readonly SignatureScheme[] = [{ header: "x-wacli-signature", prefix: "sha256=" }, SIGNATURES.forge];

/**
 * `POST /webhook/wacli`: a message of a watched chat. Without the plugin the path is 404; the secret's variable not set: 503, whatever the
 * request says; then a wrong signature: 401 (HOOK-04). A message that no rule matches is answered like one that is kept, so that the
 * sender learns nothing of the rules.
 */
export function receiverRoute({ secret, triage, refused }: ReceiverDeps): HttpRoute {
  const required = (): string => {
    const found = secret();
    if (found === undefined || found === "")
      throw svcError("SVC_TRIAGE_SECRET", "Phone triage has no secret: set the environment variable that phoneTriage.secretEnv names.", { status: 503 });
    return found;
  };
  const watch = async <T>({ caller }: Pick<HttpRequest, "caller">, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      const { status } = error as { status?: number };
      if (status === 401 || status === 503) refused(reasonOf(error), caller.address);
      throw error;
    }
  };
  return {
    method: "POST",
    path: "/webhook/wacli",
    guard: "signed",
    raw: true,
    maxBytes: MAX_BYTES,
    before: (request) => watch(request, async () => requireSignatureHeader(request, required(), SCHEMES)),
    async handle(request, reply) {
      await watch(request, async () => requireSignature(request, required(), SCHEMES));
      const read = readSynced(request.raw ?? new Uint8Array());
      if ("message" in read) await triage.take(read.message);
      reply.status(202);
      return { accepted: true };
    },
  };
}
