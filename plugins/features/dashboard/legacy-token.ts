import { createHash, timingSafeEqual } from "node:crypto";
import type { Authority } from "@svc/sdk";

/**
 * `dashboard.token`, the single bearer from before there were scopes: worth `dashboard:write` (AUTH-09) and, where anything but the
 * dashboard is asked for, unknown (AUTH-10).
 */
export function createLegacyAuthority(token: string): Authority {
  const digest = digestOf(token);
  return {
    name: "dashboard.token",
    verify: async (bearer) =>
      timingSafeEqual(digestOf(bearer), digest)
        ? { kind: "token", id: "dashboard.token", name: "dashboard.token", scopes: ["dashboard:write"], family: "dashboard" }
        : undefined,
  };
}

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
