import { type HttpRequest, type HttpRoute, type PluginContext, reasonOf, SIGNATURES, svcError } from "@svc/sdk";
import { type Reception, receive, requireSmall } from "./receiver.ts";
import type { WebhookSettings } from "./settings.ts";
import { isUnsigned, requireCredentials, secretState, type TargetFacts, targetOf, type WebhookTarget } from "./target.ts";

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
export function addRoutes(ctx: PluginContext<readonly WebhookSettings[]>, reception: Reception): void {
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
  ctx.provide.route({
    method: "GET",
    path: "/webhooks",
    guard: "loopback",
    handle: async () => ({ webhooks: await Promise.all(facts.entries().map((entry) => viewOf(entry, reception))) }),
  });
  ctx.provide.route({
    method: "GET",
    path: "/webhooks/:id/deliveries",
    guard: "loopback",
    query: { type: "object", properties: { limit: { type: "integer", minimum: 1, maximum: 500, description: "how many, newest first; default 20" } } },
    handle: async ({ params: { id = "" }, query: { limit } }) => ({
      webhook: await viewOf(entryOf(id, facts), reception),
      deliveries: await log.list(id, limit === undefined ? SHOWN : Number(limit)),
    }),
  });
  ctx.provide.route({
    method: "POST",
    path: "/webhooks/:id/test",
    guard: "loopback",
    body: { type: "object", additionalProperties: true },
    async handle({ params: { id = "" }, body }, reply) {
      const receipt = await receiveTest(entryOf(id, facts), body, reception);
      reply.status(202);
      return receipt;
    },
  });
}

/** What needs no body: is there such a webhook, and does the sender claim to know its secret? */
async function judgeHeaders(request: HttpRequest, facts: TargetFacts): Promise<void> {
  const target = targetOf(request, facts);
  await requireCredentials(target, request, facts);
  if (isUnsigned(target)) requireSmall(Number(request.headers["content-length"] ?? 0));
}

function entryOf(id: string, { entries }: TargetFacts): WebhookSettings {
  const found = entries().find((entry) => entry.id === id);
  if (found === undefined) throw svcError("SVC_WEBHOOK_UNKNOWN", `There is no webhook '${id}'; see svc webhook list.`, { status: 404 });
  return found;
}

const pathOf = ({ agentId, source }: WebhookSettings): string => `/webhook/${encodeURIComponent(agentId)}/${encodeURIComponent(source)}`;

async function viewOf(entry: WebhookSettings, { facts, log }: Reception): Promise<WebhookView> {
  const { id, agentId, source, enabled } = entry;
  const [last] = await log.list(id, 1);
  const seen = last === undefined ? {} : { last: { at: last.at, state: last.state } };
  return { id, path: pathOf(entry), agent: agentId, source, enabled, secret: secretState(entry, facts.env), ...seen };
}

/** A delivery of our own, signed with the entry's secret and judged as every other one. */
async function receiveTest(entry: WebhookSettings, body: unknown, reception: Reception) {
  const { id, agentId, source, enabled, secretEnv } = entry;
  const { facts } = reception;
  if (!enabled) throw svcError("SVC_WEBHOOK_OFF", `The webhook '${id}' is switched off ("enabled": false).`, { status: 409 });
  if (secretState(entry, facts.env) === "missing")
    throw svcError(
      "SVC_WEBHOOK_SECRET",
      `The variable that secretEnv of the webhook '${id}' names is not set: everything is refused. Set it and restart the daemon.`,
      {
        status: 409,
      },
    );
  const raw = new TextEncoder().encode(JSON.stringify(body));
  const headers = {
    "content-type": "application/json",
    "x-delivery-id": `test-${crypto.randomUUID()}`,
    ...(secretEnv === undefined ? {} : { [SIGNATURES.forge.header]: await signatureOf(raw, facts.env(secretEnv) ?? "") }),
  };
  const target: WebhookTarget = { agentId, source, entries: [entry] };
  return receive(target, { raw, headers }, reception);
}

async function signatureOf(raw: Uint8Array<ArrayBuffer>, secret: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", key, raw));
  return `${SIGNATURES.forge.prefix}${[...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
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
