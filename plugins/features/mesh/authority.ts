import { createHash, timingSafeEqual } from "node:crypto";
import type { Authority } from "@svc/sdk";
import type { Peer } from "./settings.ts";

/**
 * A bearer is a peer's when it equals the token of any configured one (AUTH-19); of peers that share a token it is the first. An empty token, such as
 * that of an unset variable, never matches.
 */
export function createPeerAuthority(peers: readonly Peer[]): Authority {
  const known = peers.flatMap(({ name, token }) => (token === undefined || token.trim() === "" ? [] : [{ name, digest: digestOf(token) }]));
  return {
    name: "mesh",
    async verify(bearer) {
      const digest = digestOf(bearer);
      let found: string | undefined;
      // All of them, and whole, so that the time tells nothing.
      for (const peer of known) if (timingSafeEqual(peer.digest, digest)) found ??= peer.name;
      return found === undefined ? undefined : { kind: "peer", name: found };
    },
  };
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
