import { channelError, codeOf, type HttpRoute, type Outgoing, type Peers, reasonOf, svcError } from "@svc/sdk";

/** A delivery on its way to the daemon that has the phones. */
interface Relayed {
  readonly key: string;
  readonly chat: string;
  readonly text: string;
  readonly title?: string;
  readonly agent?: string;
  readonly priority?: number;
}

const RELAYED = {
  type: "object",
  additionalProperties: false,
  required: ["key", "chat", "text"],
  properties: {
    key: { type: "string", minLength: 1, maxLength: 300 },
    chat: { type: "string", minLength: 1, maxLength: 100 },
    text: { type: "string", maxLength: 100_000 },
    title: { type: "string", maxLength: 1_000 },
    agent: { type: "string", maxLength: 200 },
    priority: { type: "integer", minimum: 1, maximum: 5 },
  },
} as const;

const TIMEOUT_MS = 60_000;

/** Sends a delivery through the peer that has the phones. The peer knows it by its key, so that one which comes twice is shown once. */
export async function relay(out: Outgoing, peer: string, peers: Peers | undefined, node: string, signal: AbortSignal): Promise<void> {
  if (peers === undefined) throw channelError("retry", `channels.push.relayTo names the peer '${peer}', and the section mesh is missing or off`);
  const { title, agent, priority } = out;
  const body: Relayed = {
    key: `${node}:${out.key}`,
    chat: out.target.chat,
    text: out.text,
    ...(title === undefined ? {} : { title }),
    ...(agent === undefined ? {} : { agent }),
    ...(priority === undefined ? {} : { priority }),
  };
  const answer = await peers.request(peer, { method: "POST", path: "/push/relay", body, signal, timeoutMs: TIMEOUT_MS }).catch((error) => {
    // A peer that is not configured stays unknown until the file is changed, and with that this channel starts anew.
    throw channelError(codeOf(error) === "SVC_MESH_PEER" ? "permanent" : "retry", `push goes through the peer '${peer}': ${reasonOf(error)}`);
  });
  if (answer.status < 300) return;
  const said = answer.body as { error?: unknown; retryAfterMs?: unknown } | undefined;
  const reason = `the peer '${peer}' answered ${answer.status}${typeof said?.error === "string" ? `: ${said.error}` : ""}`;
  const again = answer.status === 429 || answer.status === 408 || answer.status >= 500;
  throw channelError(again ? "retry" : "permanent", reason, typeof said?.retryAfterMs === "number" ? said.retryAfterMs : undefined);
}

/**
 * `POST /push/relay` of the daemon, for peers: what they send is shown on the phones of this one. One that has no phones itself but relays
 * as well refuses (508): a circle of peers ends at its first step.
 */
export function relayRoute(send: (out: Outgoing, signal: AbortSignal) => Promise<unknown>, relayTo: string | undefined): HttpRoute {
  return {
    method: "POST",
    path: "/push/relay",
    guard: "peer",
    maxBytes: 1_048_576,
    body: RELAYED,
    async handle({ body, signal }) {
      if (relayTo !== undefined)
        throw svcError("SVC_PUSH_RELAY", `This daemon has no phones: its channels.push.relayTo is '${relayTo}'. Name the daemon that has them.`, {
          status: 421,
        });
      const { chat, text, key, ...rest } = body as Relayed;
      try {
        await send({ target: { channel: "push", chat }, text, plain: text, key: `relay:${key}`, ...rest }, signal);
      } catch (error) {
        const { failure, retryAfterMs } = error as { failure?: string; retryAfterMs?: number };
        throw svcError("SVC_PUSH_RELAY", reasonOf(error), {
          status: failure === "permanent" ? 422 : 503,
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        });
      }
      return { ok: true };
    },
  };
}
