import { createHash, randomBytes } from "node:crypto";
import type { Authority, HttpRoute } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Lifetime of a link. */
const LINK_MS = 10 * 60_000;
/** Lifetime of its session. */
const SESSION_MS = 12 * 3_600_000;
const MOST_LINKS = 32;
const MOST_SESSIONS = 256;
const CODE = /^[0-9a-f]{64}$/;
const SESSION = /^svc_session_[0-9a-f]{64}$/;

/** Links that sign a browser in, each once. */
export interface SignInLinks {
  /** Knows the sign-ins that are in force. */
  readonly authority: Authority;
  /** Creates the code behind `#sign-in=` of a new link. */
  code(): { readonly code: string; readonly expiresAt: number };
  /** `POST /api/sign-in` and `POST /api/sign-out`. */
  readonly routes: readonly HttpRoute[];
}

/**
 * Makes the sign-in links of one dashboard. A link holds a code behind its `#`, which no server and no log gets to see; the page exchanges it, once
 * and within 10 minutes, for a token that is worth `dashboard:write` for 12 hours. Both are kept in memory as digests: a restart ends them.
 */
export function createSignInLinks(now: () => number = Date.now): SignInLinks {
  const codes = new Map<string, number>();
  const sessions = new Map<string, { readonly id: string; readonly expiresAt: number }>();

  function forget(): void {
    const at = now();
    for (const [digest, expiresAt] of codes) if (expiresAt <= at || codes.size > MOST_LINKS) codes.delete(digest);
    for (const [digest, { expiresAt }] of sessions) if (expiresAt <= at || sessions.size > MOST_SESSIONS) sessions.delete(digest);
  }

  function signIn(code: string): { readonly token: string; readonly expiresAt: string } {
    const digest = digestOf(code);
    const expiresAt = codes.get(digest);
    codes.delete(digest);
    if (!CODE.test(code) || expiresAt === undefined || expiresAt <= now()) throw fail("SVC_DASHBOARD_LINK");
    const token = `svc_session_${randomBytes(32).toString("hex")}`;
    const until = now() + SESSION_MS;
    sessions.set(digestOf(token), { id: `sign-in-${randomBytes(4).toString("hex")}`, expiresAt: until });
    forget();
    return { token, expiresAt: new Date(until).toISOString() };
  }

  return {
    authority: {
      name: "dashboard.sign-in",
      async verify(bearer) {
        if (!SESSION.test(bearer)) return undefined;
        const known = sessions.get(digestOf(bearer));
        if (known === undefined || known.expiresAt <= now()) return undefined;
        return { kind: "token", id: known.id, name: "sign-in link", scopes: ["dashboard:write"], family: "dashboard" };
      },
    },
    code() {
      const code = randomBytes(32).toString("hex");
      const expiresAt = now() + LINK_MS;
      codes.set(digestOf(code), expiresAt);
      forget();
      return { code, expiresAt };
    },
    routes: [
      {
        server: "dashboard",
        method: "POST",
        path: "/api/sign-in",
        // The code is the credential: it is verified here.
        guard: "open",
        body: { type: "object", required: ["code"], additionalProperties: false, properties: { code: { type: "string", maxLength: 64 } } },
        handle: ({ body }) => signIn((body as { code: string }).code),
      },
      {
        server: "dashboard",
        method: "POST",
        path: "/api/sign-out",
        guard: "scope:dashboard:write",
        handle({ headers }) {
          const bearer = /^bearer +(\S+) *$/i.exec(headers.authorization?.toString() ?? "")?.[1];
          return { ended: bearer !== undefined && sessions.delete(digestOf(bearer)) };
        },
      },
    ],
  };
}

/** `POST /dashboard/link` of the daemon, for the person at this machine: a link to its own dashboard that signs a browser in. */
export function linkRoute(links: SignInLinks, address: () => string | undefined): HttpRoute {
  return {
    method: "POST",
    path: "/dashboard/link",
    guard: "loopback",
    forPeople: true,
    handle() {
      const url = address();
      if (url === undefined) throw fail("SVC_DASHBOARD_CLOSED");
      const { code, expiresAt } = links.code();
      return { url: `${url}/live#sign-in=${code}`, expiresAt: new Date(expiresAt).toISOString() };
    },
  };
}

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
