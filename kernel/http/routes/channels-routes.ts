import { type HttpRoute, withTimeout } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** Milliseconds that the caller waits for the platform before the answer that the message is queued. */
const PATIENCE_MS = 30_000;
const FIELDS = ["channel", "chatId", "text"] as const;

/** `GET /channels`: every channel with its state, the abilities of its platform, and the number of queued deliveries. */
export function channelsRoute(kernel: Pick<Kernel, "channels">): HttpRoute {
  return {
    method: "GET",
    path: "/channels",
    summary: "The channels, their state and what they can do",
    guard: "peer",
    handle: async () => ({ channels: await kernel.channels() }),
  };
}

/** `POST /channels/:name/test`: asks the platform for our own account; answers `{ok: true, detail}`, and 502 with the platform's message if it refuses. */
export function testChannelRoute(kernel: Pick<Kernel, "testChannel">): HttpRoute {
  return {
    method: "POST",
    path: "/channels/:name/test",
    summary: "Asks a channel's platform who we are",
    guard: "loopback",
    handle: async ({ params, signal }) => ({ ok: true, detail: await kernel.testChannel(params.name as string, signal) }),
  };
}

/**
 * `POST /send` (000:L179): an unsolicited message of an agent. Answers `{ok: true, messageId}` once the platform has accepted it, and with the
 * platform's message when it refuses. A message that cannot be sent within half a minute stays in the outbox and is answered with 504.
 */
export function sendRoute(kernel: Pick<Kernel, "agents" | "tasks">): HttpRoute {
  const text = { type: "string", minLength: 1 } as const;
  return {
    method: "POST",
    path: "/send",
    summary: "Sends a text to a channel",
    guard: "peer",
    body: { type: "object", properties: { channel: text, chatId: text, text, agentId: text, accountId: text } },
    async handle({ body, signal }) {
      const given = body as {
        readonly channel: string;
        readonly chatId: string;
        readonly text: string;
        readonly agentId?: string;
        readonly accountId?: string;
      };
      for (const field of FIELDS)
        if (given[field] === undefined) throw fail("SVC_HTTP_INVALID", { subject: `'${field}'`, reason: "is missing", path: field, field });
      const { channel, chatId, agentId, accountId } = given;
      if (agentId !== undefined && kernel.agents.get(agentId) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent: agentId });
      const { id, sent } = await kernel.tasks.deliver({
        kind: "proactive",
        target: { channel, chat: chatId, ...(accountId === undefined ? {} : { account: accountId }) },
        text: given.text,
        ...(agentId === undefined ? {} : { agent: agentId }),
      });
      const { platformId } = await withTimeout(
        sent,
        PATIENCE_MS,
        () => {
          throw fail("SVC_DELIVERY_WAITING", { channel, delivery: id });
        },
        // Stop waiting when the caller disconnects.
        signal,
      );
      return { ok: true, messageId: platformId };
    },
  };
}
