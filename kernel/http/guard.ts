import type { IncomingHttpHeaders } from "node:http";
import type { Authority, Caller, Guard, HttpRoute, Identity, ScopeTable, Ticket } from "@svc/sdk";
import type { Peer } from "../base/client-address.ts";
import { fail } from "../base/errors.ts";
import { guardScope } from "../base/guard-scope.ts";
import type { StreamProof } from "./open-streams.ts";
import type { Throttle } from "./throttle.ts";

/** A route's guard, taken apart once. In `scope`, a part that starts with `:` is the path parameter of that name. */
export type Rule = { readonly kind: "open" } | { readonly kind: "signed" } | { readonly kind: "loopback" } | { readonly kind: "peer" } | ScopeRule;

interface ScopeRule {
  readonly kind: "scope";
  readonly parts: readonly string[];
}

/** The part of a request that a guard reads: never the body. */
export interface Asker {
  readonly peer: Peer;
  /** Own machine and not passed on by a proxy. */
  readonly local: boolean;
  /** Would be `local` with a proof that it may read the local secret. */
  readonly unproven: boolean;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly params: Readonly<Record<string, string>>;
  /** The `token` of the query, already removed from it. */
  readonly queryToken: string | undefined;
}

/** An admitted caller and, if that took a bearer, the means to check an open stream again. */
export interface Admitted {
  readonly caller: Caller;
  readonly proof?: StreamProof;
}

/** Dependencies of the guards: the authorities that verify bearers, the scopes of loopback without a token, and the throttle. */
export interface GuardOptions {
  /** Token scopes that plugins declare. */
  readonly scopes: ScopeTable;
  authorities(): readonly Authority[];
  /** Scopes that callers on loopback have without a token, such as `acme:write` while its plugin has no token of its own. */
  localScopes?(): readonly string[];
  readonly throttle: Throttle;
}

/** The guards in action. */
export interface Guards {
  /** Answers synchronously unless a bearer must be verified by an authority. Throws or rejects with 401, 403 or 429. */
  judge(rule: Rule, asker: Asker): Admitted | Promise<Admitted>;
  /** Whether a guard would admit a caller who has passed another one with the same request; false for an unknown guard. */
  would(guard: Guard, asker: Asker, caller: Caller): boolean;
  /**
   * Returns the identity that a bearer proves now, freshly from the authorities; a ticket proves none. Never rejects: an authority that throws counts
   * as one that does not know the bearer.
   */
  identify(bearer: string): Promise<Identity | undefined>;
}

/** Former name of the guard `peer`: plugins built against generation 1 of the plugin API still use it. */
const FORMER_PEER: string = "mesh";

/** Takes a route's guard apart. Throws `SVC_HTTP_ROUTE` for one that does not exist: a route without a known guard is never served. */
export function ruleOf(route: Pick<HttpRoute, "method" | "path" | "guard">, scopes: ScopeTable): Rule {
  const { method, path, guard } = route;
  if (guard === "open" || guard === "loopback" || guard === "peer" || guard === "signed") return { kind: guard };
  if (guard === FORMER_PEER) return { kind: "peer" };
  const scope = guardScope(route, scopes);
  if (scope === undefined)
    throw fail("SVC_HTTP_ROUTE", {
      method,
      target: path,
      reason: `its guard '${guard}' does not exist; use open, loopback, peer, signed or scope:<family>:<name>`,
    });
  return { kind: "scope", parts: [scope.family, scope.name] };
}

/** The bearer of a request. The header wins over the query; an empty bearer counts as absent. */
export function bearerOf(headers: IncomingHttpHeaders, queryToken: string | undefined): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    const match = /^bearer +(\S+) *$/i.exec(authorization);
    // A malformed Authorization header is rejected, not ignored.
    return match?.[1] ?? "";
  }
  return queryToken === "" ? undefined : queryToken;
}

/** Makes the guards of one server. */
export function createGuards({ scopes, authorities, localScopes = () => [], throttle }: GuardOptions): Guards {
  /** The first authority that knows the bearer. One that throws is skipped. */
  async function ask(bearer: string): Promise<Identity | Ticket | undefined> {
    if (bearer === "") return undefined;
    for (const authority of authorities()) {
      try {
        const answer = await authority.verify(bearer);
        if (answer !== undefined) return answer;
      } catch {
        // Closed: the next authority may still know it.
      }
    }
    return undefined;
  }

  async function identify(bearer: string): Promise<Identity | undefined> {
    const answer = await ask(bearer);
    return answer?.kind === "ticket" ? undefined : answer;
  }

  async function prove(rule: Rule, asker: Asker, bearer: string): Promise<Admitted> {
    const { peer, local, params } = asker;
    // A proxy on this machine serves many clients: do not lock it out for one client's guesses.
    const address = peer.loopback ? undefined : peer.address;
    const wait = address === undefined ? undefined : throttle.wait(address);
    if (wait !== undefined) throw fail("SVC_HTTP_THROTTLED", { seconds: wait, retryAfterMs: wait * 1000 });
    const answer = await ask(bearer);
    const ticket = answer?.kind === "ticket" ? answer : undefined;
    const whole = ticket === undefined ? (answer as Identity | undefined) : await identify(ticket.bearer);
    const within = (proven: Identity | undefined) => (ticket === undefined ? proven : narrowed(proven, ticket, scopes));
    const identity = within(whole);
    if (identity === undefined || !exists(identity, rule)) {
      if (address !== undefined) throttle.failed(address);
      throw fail("SVC_HTTP_BEARER_UNKNOWN");
    }
    if (address !== undefined) throttle.succeeded(address);
    const holds = (proven: Identity) => {
      const left = within(proven);
      return left !== undefined && grants(rule, params, left, local, scopes);
    };
    if (!holds(identity)) throw fail("SVC_HTTP_FORBIDDEN", { needed: neededBy(rule, params) });
    const facts = identity.kind === "peer" ? { peer: identity.name } : { token: { id: identity.id, name: identity.name, scopes: identity.scopes } };
    return { caller: { address: peer.address, local, ...facts }, proof: { bearer: ticket?.bearer ?? bearer, holds } };
  }

  /** Without a bearer. */
  const passesUnproven = (rule: Rule, { peer, local, params }: Pick<Asker, "peer" | "local" | "params">): boolean => {
    if (rule.kind === "open" || rule.kind === "signed") return true;
    if (rule.kind === "loopback") return peer.loopback && local;
    return rule.kind === "peer" ? local : local && peer.loopback && scopes.grants(localScopes(), scopeOf(rule, params));
  };

  return {
    would(guard, asker, { token, peer }) {
      let rule: Rule;
      try {
        rule = ruleOf({ method: "GET", path: "", guard }, scopes);
      } catch {
        // Fail closed: an unknown guard admits no caller.
        return false;
      }
      const identity: Identity | undefined =
        token === undefined ? (peer === undefined ? undefined : { kind: "peer", name: peer }) : { kind: "token", ...token };
      if (identity === undefined || (rule.kind !== "scope" && rule.kind !== "peer")) return passesUnproven(rule, asker);
      return grants(rule, asker.params, identity, asker.local, scopes);
    },
    judge(rule, asker) {
      const { peer, local, unproven, method, headers, queryToken } = asker;
      const anonymous = { caller: { address: peer.address, local } };
      if (rule.kind === "open" || rule.kind === "signed") return anonymous;
      if (rule.kind === "loopback") {
        if (peer.loopback && local) return anonymous;
        throw fail(unproven ? "SVC_HTTP_LOCAL_SECRET" : "SVC_HTTP_LOOPBACK");
      }
      const bearer = bearerOf(headers, rule.kind === "scope" || method === "GET" ? queryToken : undefined);
      // Verify every bearer that was sent, from this machine too: an invalid one is not treated as absent.
      if (bearer !== undefined) return prove(rule, asker, bearer);
      if (passesUnproven(rule, asker)) return anonymous;
      throw fail(unproven ? "SVC_HTTP_LOCAL_SECRET" : "SVC_HTTP_BEARER_MISSING");
    },
    identify,
  };
}

/** Limits the token's scopes to those of the ticket. A peer's bearer has no scopes to choose from. */
function narrowed(identity: Identity | undefined, ticket: Ticket, scopes: ScopeTable): Identity | undefined {
  if (identity?.kind !== "token") return undefined;
  return { ...identity, scopes: ticket.scopes.filter((scope) => scopes.grants(identity.scopes, scope)) };
}

/** A bearer of one family of scopes counts as unknown where another family is required. */
function exists(identity: Identity, rule: Rule): boolean {
  if (identity.kind === "peer" || identity.family === undefined) return true;
  return rule.kind === "scope" && rule.parts[0] === identity.family;
}

function grants(rule: Rule, params: Readonly<Record<string, string>>, identity: Identity, local: boolean, scopes: ScopeTable): boolean {
  if (rule.kind === "scope") return identity.kind === "token" && scopes.grants(identity.scopes, scopeOf(rule, params));
  return rule.kind === "peer" && (local || identity.kind === "peer");
}

function scopeOf(rule: ScopeRule, params: Readonly<Record<string, string>>): string {
  return rule.parts.map((part) => (part.startsWith(":") ? (params[part.slice(1)] ?? "") : part)).join(":");
}

/** Names the proof that a refused caller lacks, for people. */
function neededBy(rule: Rule, params: Readonly<Record<string, string>>): string {
  return rule.kind === "scope" ? `the scope ${scopeOf(rule, params)}` : "a peer's token";
}
