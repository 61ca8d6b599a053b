import { createHash, randomBytes } from "node:crypto";
import type { Authority, HttpRoute } from "@svc/sdk";
import { fail } from "./errors.ts";

interface Issued {
  readonly bearer: string;
  readonly expiresAt: number;
}

const LIFETIME_MS = 60_000;
/** Tickets of one token that wait for their use; the oldest goes. */
const MOST_WAITING = 32;
const TICKET = /^svc_ticket_[0-9a-f]{64}$/;

/** Tickets that open one stream each: what a page puts into an address in place of its token. */
export interface Tickets {
  /** Knows the tickets that are waiting, each once. */
  readonly authority: Authority;
  readonly route: HttpRoute;
}

/**
 * Makes the tickets of one dashboard. They are in memory and nowhere else: a restart ends them, as it ends the streams that they open, and
 * a page asks for a new one.
 */
export function createTickets(now: () => number = Date.now): Tickets {
  /** By digest, the oldest first: how long the look-up takes tells nothing about a ticket. */
  const waiting = new Map<string, Issued>();

  function issue(bearer: string): { readonly ticket: string; readonly expiresAt: string } {
    const at = now();
    for (const [digest, { expiresAt }] of waiting) if (expiresAt <= at) waiting.delete(digest);
    const own = [...waiting].filter(([, issued]) => issued.bearer === bearer);
    for (const [digest] of own.slice(0, Math.max(0, own.length - MOST_WAITING + 1))) waiting.delete(digest);
    const ticket = `svc_ticket_${randomBytes(32).toString("hex")}`;
    const expiresAt = at + LIFETIME_MS;
    waiting.set(digestOf(ticket), { bearer, expiresAt });
    return { ticket, expiresAt: new Date(expiresAt).toISOString() };
  }

  return {
    authority: {
      name: "dashboard.tickets",
      async verify(given) {
        if (!TICKET.test(given)) return undefined;
        const digest = digestOf(given);
        const issued = waiting.get(digest);
        waiting.delete(digest);
        return issued === undefined || issued.expiresAt <= now() ? undefined : { kind: "ticket", bearer: issued.bearer, scopes: ["dashboard:read"] };
      },
    },
    /**
     * `POST /api/ticket`: `{ticket, expiresAt}`; the ticket is given as `?token=` of one stream, within 60 s. Who needs no token here gets
     * `{}`, and opens streams without one.
     */
    route: {
      server: "dashboard",
      method: "POST",
      path: "/api/ticket",
      guard: "scope:dashboard:read",
      handle({ caller, headers }) {
        if (caller.token === undefined) return {};
        const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization?.toString() ?? "")?.[1];
        if (bearer === undefined || TICKET.test(bearer)) throw fail("SVC_DASHBOARD_TICKET");
        return issue(bearer);
      },
    },
  };
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
