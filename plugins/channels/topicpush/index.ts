import { channelError, definePlugin, type ObjectSchema, type Outgoing } from "@svc/sdk";
import { failureOf } from "./failure.ts";

/** `channels.topicpush` of svc.json (001:L140). */
interface Settings {
  readonly enabled?: boolean;
  readonly server?: string;
  readonly topic?: string;
  readonly token?: string;
  readonly defaultPriority?: number;
  readonly defaultTitle?: string;
}

const schema: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch of this channel" },
    server: { type: "string", pattern: "^https?://", default: "https://ntfy.sh", description: "topic server" },
    topic: { type: "string", secret: true, pattern: "^[-_A-Za-z0-9]{1,64}$", description: "topic; treat as a secret: who knows it can read along" },
    token: { type: "string", secret: true, description: "access token" },
    defaultPriority: { type: "number", minimum: 1, maximum: 5, default: 3, description: "priority when a send names none" },
    defaultTitle: { type: "string", description: "title when a send names none" },
  },
};

const TIMEOUT_MS = 30_000;

/** Notifications to a topic. Send only: nothing comes in and no agent is bound (CHAN-06). */
export default definePlugin<Settings>({
  kind: "channel",
  name: "topicpush",
  version: "0.1.0",
  svc: "^0.1.0",
  config: {
    at: "channels.topicpush",
    schema,
    check: ({ enabled, topic }) =>
      enabled === true && topic === undefined ? [{ path: "topic", message: "is missing: nothing can be sent; set it with: svc connect topicpush" }] : [],
  },
  capabilities: ["fetch"],
  setup(ctx) {
    const { server = "https://ntfy.sh", topic = "", token, defaultPriority = 3, defaultTitle } = ctx.config;
    const root = server.replace(/\/+$/, "");
    const ask = async (path: string, init: { method: string; body?: string; signal: AbortSignal }) => {
      try {
        return await ctx.fetch(root + path, {
          ...init,
          headers: { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
          timeoutMs: TIMEOUT_MS,
          maxRedirects: 0,
          trustedOrigins: [new URL(root).origin],
        });
      } catch (error) {
        throw failureOf(error);
      }
    };

    const handle = ctx.provide.channel({
      name: "topicpush",
      // Above this length the server turns a message into an attachment.
      traits: { maxChars: 4_096, unit: "utf8", dialect: "plain", receives: false },
      async send(out: Outgoing, signal) {
        const { title = defaultTitle, priority = defaultPriority } = out;
        const body = JSON.stringify({ topic, message: out.text, priority, ...(title === undefined ? {} : { title }) });
        const answer = await ask("/", { method: "POST", body, signal });
        if (answer.status !== 200) throw failureOf(answer);
        return { platformId: messageIdIn(answer.text()) };
      },
      async test(signal) {
        const answer = await ask("/v1/health", { method: "GET", signal });
        if (answer.status !== 200) throw failureOf(answer);
        return `${root} is healthy`;
      },
    });
    return {
      async start() {
        if (topic === "") handle.down("channels.topicpush.topic is not set");
        else handle.ready();
      },
    };
  },
});

/** The server has taken the message, or something else answers in its place: it may have arrived. */
function messageIdIn(text: string): string {
  try {
    const { id } = JSON.parse(text) as { id?: unknown };
    if (typeof id === "string") return id;
  } catch {
    // Not JSON, or null: as little an answer of the server as one without an id.
  }
  throw channelError("unknown", "the server's answer names no message id");
}
