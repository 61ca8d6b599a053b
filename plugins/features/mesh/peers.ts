import { type GuardedFetch, type Peers, svcError } from "@svc/sdk";
import type { Peer } from "./settings.ts";

const TIMEOUT_MS = 30_000;
const MOST_BYTES = 10_485_760;

/** Asks the configured peers. Their addresses are the operator's, so that private ones count; a redirect is not followed, it would take the token along. */
export function createPeers(peers: readonly Peer[], fetch: GuardedFetch): Omit<Peers, "run" | "send"> {
  return {
    list: () => peers.map(({ name, url }) => ({ name, url })),
    async request(name, { method, path, body, headers = {}, signal, timeoutMs = TIMEOUT_MS }) {
      const peer = peers.find((one) => one.name === name);
      if (peer === undefined) throw svcError("SVC_MESH_PEER", `There is no peer '${name}' in mesh.peers of svc.json.`, { status: 404 });
      const answer = await fetch(peer.url.replace(/\/+$/, "") + path, {
        method,
        headers: {
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
          ...(peer.token === undefined || peer.token.trim() === "" ? {} : { authorization: `Bearer ${peer.token}` }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
        timeoutMs,
        maxBytes: MOST_BYTES,
        maxRedirects: 0,
        trustedOrigins: [new URL(peer.url).origin],
      });
      return { status: answer.status, body: jsonOf(answer.text()) };
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
