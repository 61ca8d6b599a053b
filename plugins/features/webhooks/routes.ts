import { type HttpRequest, type HttpRoute, type PluginContext, reasonOf } from "@svc/sdk";
import { type Reception, receive, requireSmall } from "./receiver.ts";
import { entryOf, receiveTest, replay } from "./replay.ts";
import type { WebhookSettings } from "./settings.ts";
import { isUnsigned, requireCredentials, secretState, type TargetFacts, targetOf } from "./target.ts";

/** As large as any sender's payload that is known, and all that a route may take. */
const MAX_BYTES = 26_214_400;
const SHOWN = 20;
const WARN_MS = 60_000;

/** An entry as `GET /webhooks` shows it. */
export interface WebhookView {
  readonly id: string;
  readonly path: string;
  readonly agent: string;
  readonly source: string;
  readonly enabled: boolean;
  /** `missing`: a variable is named and not set, so that everything is refused. */
  readonly secret: "none" | "set" | "missing";
  readonly last?: { readonly at: number; readonly state: string };
}

/** `POST /webhook/:agentId[/:source]` for other systems; `GET /webhooks`, its deliveries and a test for this machine. */
export function addRoutes(ctx: PluginContext<readonly WebhookSettings[]>, reception: Reception & { readonly ctx: Pick<PluginContext, "traces"> }): void {
  const { facts, log } = reception;
  const refusals = new Refusals(ctx);
  const incoming = (path: string): HttpRoute => ({
    method: "POST",
    path,
    guard: "signed",
    raw: true,
    maxBytes: MAX_BYTES,
    before: (request) => refusals.watch(request, () => judgeHeaders(request, facts)),
    async handle(request, reply) {
      const receipt = await refusals.watch(request, () => receive(targetOf(request, facts), request, reception));
      reply.status(receipt.duplicate ? 200 : 202);
      return receipt;
    },
  });
  ctx.provide.route(incoming("/webhook/:agentId"));
  ctx.provide.route(incoming("/webhook/:agentId/:source"));
  const list = async () => ({ webhooks: await Promise.all(facts.entries().map((entry) => viewOf(entry, reception))) });
  const deliveries: Omit<HttpRoute, "path" | "guard"> = {
    method: "GET",
    query: { type: "object", properties: { limit: { type: "integer", minimum: 1, maximum: 500, description: "how many, newest first; default 20" } } },
    handle: async ({ params: { id = "" }, query: { limit } }) => ({
      webhook: await viewOf(entryOf(id, facts), reception),
      deliveries: await log.list(id, limit === undefined ? SHOWN : Number(limit)),
    }),
  };
  const test: Omit<HttpRoute, "path" | "guard"> = {
    method: "POST",
    body: { type: "object", additionalProperties: true },
    async handle({ params: { id = "" }, body }, reply) {
      const receipt = await receiveTest(entryOf(id, facts), body, reception);
      reply.status(202);
      return receipt;
    },
  };
  ctx.provide.route({ method: "GET", path: "/webhooks", guard: "loopback", handle: list });
  ctx.provide.route({ ...deliveries, path: "/webhooks/:id/deliveries", guard: "loopback" });
  ctx.provide.route({ ...test, path: "/webhooks/:id/test", guard: "loopback" });
  // The same for people in a browser.
  const admin = { server: "dashboard", guard: "scope:dashboard:write" } as const;
  ctx.provide.route({ ...admin, method: "GET", path: "/api/admin/webhooks", handle: list });
  ctx.provide.route({ ...deliveries, ...admin, path: "/api/admin/webhooks/:id/deliveries" });
  ctx.provide.route({ ...test, ...admin, path: "/api/admin/webhooks/:id/test", forPeople: true });
  ctx.provide.route({
    method: "POST",
    path: "/webhooks/replay",
    guard: "loopback",
    body: {
      type: "object",
      additionalProperties: false,
      required: ["delivery"],
      properties: { delivery: { type: "string", minLength: 1, maxLength: 300 }, webhook: { type: "string", minLength: 1, maxLength: 100 } },
    },
    async handle({ body }, reply) {
      const { delivery, webhook } = body as { readonly delivery: string; readonly webhook?: string };
      const receipt = await replay(delivery, webhook, reception);
      reply.status(202);
      return receipt;
    },
  });
}

/** Checks that need no body: whether the webhook exists, and whether the sender presents a credential. */
async function judgeHeaders(request: HttpRequest, facts: TargetFacts): Promise<void> {
  const target = targetOf(request, facts);
  await requireCredentials(target, request, facts);
  if (isUnsigned(target)) requireSmall(Number(request.headers["content-length"] ?? 0));
}

const pathOf = ({ agentId, source }: WebhookSettings): string => `/webhook/${encodeURIComponent(agentId)}/${encodeURIComponent(source)}`;

async function viewOf(entry: WebhookSettings, { facts, log }: Reception): Promise<WebhookView> {
  const { id, agentId, source, enabled } = entry;
  const [last] = await log.list(id, 1);
  const seen = last === undefined ? {} : { last: { at: last.at, state: last.state } };
  return { id, path: pathOf(entry), agent: agentId, source, enabled, secret: secretState(entry, facts.env), ...seen };
}

/** Says in the log that somebody is refused, once a minute: the operator who mistyped a secret finds it, a stranger cannot fill the disk. */
class Refusals {
  readonly #ctx: Pick<PluginContext, "log">;
  #count = 0;
  #warned = Number.NEGATIVE_INFINITY;

  constructor(ctx: Pick<PluginContext, "log">) {
    this.#ctx = ctx;
  }

  async watch<T>({ params, caller }: Pick<HttpRequest, "params" | "caller">, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if ((error as { status?: number }).status === 401) this.#refused(params["agentId"] ?? "", caller.address, reasonOf(error));
      throw error;
    }
  }

  #refused(agent: string, address: string, reason: string): void {
    this.#count += 1;
    if (performance.now() - this.#warned < WARN_MS) return;
    this.#ctx.log.warn({ agent, address, refused: this.#count, reason }, "a webhook was refused");
    this.#warned = performance.now();
    this.#count = 0;
  }
}
