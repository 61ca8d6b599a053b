import { type PluginContext, SIGNATURES, svcError } from "@svc/sdk";
import type { DeliveryRow } from "./delivery-log.ts";
import type { KeptBody } from "./kept-bodies.ts";
import { type Incoming, type Receipt, type Reception, type Replay, receive } from "./receiver.ts";
import type { WebhookSettings } from "./settings.ts";
import { secretState, type TargetFacts } from "./target.ts";

/** The entry of that id. Throws `SVC_WEBHOOK_UNKNOWN` (404). */
export function entryOf(id: string, { entries }: TargetFacts): WebhookSettings {
  const found = entries().find((entry) => entry.id === id);
  if (found === undefined) throw svcError("SVC_WEBHOOK_UNKNOWN", `There is no webhook '${id}'; see svc webhook list.`, { status: 404 });
  return found;
}

/** A delivery of our own, signed with the entry's secret and judged as every other one. */
export function receiveTest(entry: WebhookSettings, body: unknown, reception: Reception): Promise<Receipt> {
  return receiveOwn(entry, "test", { raw: new TextEncoder().encode(JSON.stringify(body)), headers: { "content-type": "application/json" } }, reception);
}

/**
 * Takes the newest delivery of that id in again, under an id of its own and by the settings of now. Throws `SVC_WEBHOOK_DELIVERY` (404)
 * for one that is not in the log, and `SVC_WEBHOOK_GONE` (410) where its body is not kept any more.
 */
export async function replay(
  delivery: string,
  webhook: string | undefined,
  reception: Reception & { readonly ctx: Pick<PluginContext, "traces"> },
): Promise<Receipt> {
  const found = await reception.log.find(delivery, webhook);
  if (found === undefined)
    throw svcError("SVC_WEBHOOK_DELIVERY", `The log has no delivery '${delivery}' that was accepted or refused; see svc webhook show <id>.`, { status: 404 });
  const { row } = found;
  const request = found.body === undefined ? await fromTask(row, reception.ctx) : sentAs(found.body);
  if (request === undefined)
    throw svcError("SVC_WEBHOOK_GONE", `The body of the delivery '${delivery}' is not kept any more; have the sender deliver it again.`, { status: 410 });
  const again = { of: delivery, at: row.at };
  if (!row.webhook.startsWith("/")) return receiveOwn(entryOf(row.webhook, reception.facts), "replay", request, reception, again);
  // The delivery came from this machine to an agent without an entry.
  return receive({ agentId: row.agent, source: undefined, entries: [] }, withId("replay", request), reception, again);
}

async function receiveOwn(entry: WebhookSettings, kind: string, request: Incoming, reception: Reception, again?: Replay): Promise<Receipt> {
  const { id, agentId, source, enabled, secretEnv } = entry;
  const { facts } = reception;
  if (!enabled) throw svcError("SVC_WEBHOOK_OFF", `The webhook '${id}' is switched off ("enabled": false).`, { status: 409 });
  if (secretState(entry, facts.env) === "missing")
    throw svcError(
      "SVC_WEBHOOK_SECRET",
      `The variable that secretEnv of the webhook '${id}' names is not set: everything is refused. Set it and restart the daemon.`,
      { status: 409 },
    );
  const { raw, headers } = withId(kind, request);
  const signed = secretEnv === undefined ? {} : { [SIGNATURES.forge.header]: await signatureOf(raw as Uint8Array<ArrayBuffer>, facts.env(secretEnv) ?? "") };
  return receive({ agentId, source, entries: [entry] }, { raw: raw as Uint8Array, headers: { ...headers, ...signed } }, reception, again);
}

const withId = (kind: string, { raw = new Uint8Array(), headers }: Incoming): Incoming => ({
  raw,
  headers: { ...headers, "x-delivery-id": `${kind}-${crypto.randomUUID()}` },
});

/** The body as the task's message has it, whole and last. */
async function fromTask({ taskId, bodyAt, event }: DeliveryRow, { traces }: Pick<PluginContext, "traces">): Promise<Incoming | undefined> {
  const message = taskId === undefined || bodyAt === undefined ? undefined : (await traces.get(taskId))?.message;
  if (message === undefined) return undefined;
  return { raw: new TextEncoder().encode(message.slice(bodyAt)), headers: event === undefined ? {} : { "x-event-type": event } };
}

const sentAs = ({ base64, headers }: KeptBody): Incoming => ({ raw: new Uint8Array(Buffer.from(base64, "base64")), headers });

async function signatureOf(raw: Uint8Array<ArrayBuffer>, secret: string): Promise<string> {
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const digest = Buffer.from(await crypto.subtle.sign("HMAC", key, raw));
  return `${SIGNATURES.forge.prefix}${digest.toString("hex")}`;
}
