import type { PeerAnswer, PeerRequest, Peers } from "@svc/sdk";

type Body = Readonly<Record<string, unknown>>;

/** Required fields of a task. */
const NEEDED: ReadonlySet<string> = new Set(["agent", "message"]);
const MOST_LEFT_OUT = 8;

/**
 * Asks a peer, and again without each member of the body that it says it does not know: one of an earlier version refuses what it has not
 * heard of, and is to do what it can.
 */
export async function askAnyVersion(peers: Pick<Peers, "request">, node: string, request: PeerRequest & { readonly body: Body }): Promise<PeerAnswer> {
  let body: Body | undefined = request.body;
  for (let left = MOST_LEFT_OUT; ; left -= 1) {
    const answer: PeerAnswer = await peers.request(node, { ...request, body });
    body = left === 0 ? undefined : without(body, unknownIn(answer));
    if (body === undefined) return answer;
  }
}

/** The path of the member that an answer refuses as unknown. */
function unknownIn({ status, body }: PeerAnswer): readonly string[] {
  const { code, path, error } = (body ?? {}) as { code?: unknown; path?: unknown; error?: unknown };
  return status === 400 && code === "SVC_HTTP_INVALID" && typeof path === "string" && /not (a )?known field/.test(String(error)) ? path.split(".") : [];
}

function without(body: Body, [name, ...rest]: readonly string[]): Body | undefined {
  if (name === undefined || NEEDED.has(name) || !Object.hasOwn(body, name)) return undefined;
  const { [name]: inner, ...others } = body;
  if (rest.length === 0) return others;
  const kept = typeof inner === "object" && inner !== null ? without(inner as Body, rest) : undefined;
  return kept === undefined ? undefined : { ...others, [name]: kept };
}
