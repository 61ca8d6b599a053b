import { createHash, randomBytes } from "node:crypto";

const CODE = /^[A-Za-z0-9_-]{43}$/;

/** Tickets that admit a page to one call. */
export interface Tickets {
  /** A code for one link, good once and until then. A new one of the same call puts the earlier one out of force. */
  code(call: string, until: number): string;
  /** The bearer of the page that has the code; undefined where the code was used, has run out or is another call's. */
  join(call: string, code: string): string | undefined;
  /** The call that a bearer belongs to. */
  callOf(bearer: string): string | undefined;
  /** Nothing lets into that call any more. */
  forget(call: string): void;
}

/**
 * Links hold a code behind their `#`, which no server and no log gets to see; the page exchanges it, once, for a bearer that is worth this one call.
 * Both are kept in memory, as digests: a call does not outlive the daemon either.
 */
export function createTickets(now: () => number): Tickets {
  const codes = new Map<string, { readonly call: string; readonly until: number }>();
  const bearers = new Map<string, string>();
  const drop = <T>(map: Map<string, T>, call: string, callOf: (one: T) => string): void => {
    for (const [digest, one] of map) if (callOf(one) === call) map.delete(digest);
  };
  return {
    code(call, until) {
      drop(codes, call, (one) => one.call);
      const code = secret();
      codes.set(digestOf(code), { call, until });
      return code;
    },
    join(call, code) {
      const digest = digestOf(code);
      const known = codes.get(digest);
      if (!CODE.test(code) || known === undefined || known.call !== call || known.until <= now()) return undefined;
      codes.delete(digest);
      const bearer = secret();
      bearers.set(digestOf(bearer), call);
      return bearer;
    },
    callOf: (bearer) => bearers.get(digestOf(bearer)),
    forget(call) {
      drop(codes, call, (one) => one.call);
      drop(bearers, call, (one) => one);
    },
  };
}

const secret = (): string => randomBytes(32).toString("base64url");
const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");
