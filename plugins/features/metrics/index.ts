import { definePlugin, type Envelope, type ObjectSchema } from "@svc/sdk";
import type { Measures } from "./client.ts";

const SECTION: ObjectSchema = {
  type: "object",
  description: "GET /metrics for Prometheus",
  additionalProperties: false,
  properties: { enabled: { type: "boolean", default: false, description: "switch" } },
};

export default definePlugin<{ readonly enabled: boolean }>({
  kind: "feature",
  name: "metrics",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "metrics", schema: SECTION },
  capabilities: ["health", "routes"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let measures: Measures | undefined;
    ctx.hooks.emit.tap((envelope) => {
      // Events of other daemons are counted there: their names are not this daemon's.
      if (envelope.node === ctx.node.id) count(measures, envelope);
    });
    ctx.provide.route({
      method: "GET",
      path: "/metrics",
      guard: "peer",
      async handle(_request, reply) {
        if (measures === undefined) return reply.status(503).send("the daemon starts\n", "text/plain; charset=utf-8");
        const { text, type } = await measures.tell();
        reply.send(text, type);
      },
    });
    return {
      async start() {
        const { createMeasures } = await import("./client.ts");
        measures = createMeasures(() => ctx.health());
      },
    };
  },
});

/** Counts events of the daemon itself; a plugin's event of the same kind has a source and is ignored. */
function count(measures: Measures | undefined, { type, agentId = "", data = {}, source }: Envelope): void {
  if (measures === undefined || source !== undefined) return;
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  if (type === "task:completed") measures.task(agentId, text(data.status), typeof data.durationMs === "number" ? data.durationMs : 0);
  else if (type === "out" && data.delivery !== undefined) measures.delivered(text(data.channel), "sent", 1);
  else if (type === "delivery:uncertain") measures.delivered(text(data.channel), "uncertain", 1);
  else if (type === "status" && text(data.state).startsWith("delivery-"))
    measures.delivered(text(data.channel), text(data.state).slice("delivery-".length), typeof data.count === "number" ? data.count : 1);
}
