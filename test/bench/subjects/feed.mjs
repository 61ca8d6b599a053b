/**
 * A plugin for a daemon of the mesh: `POST /bench/publish` publishes so many events at so many a second, `GET /bench/heard` says how many of
 * another daemon came here.
 */
const TICK_MS = 10;

export default {
  kind: "feature",
  name: "bench-feed",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["events", "routes"],
  setup(ctx) {
    let heard = 0;
    ctx.events.subscribe((envelope) => {
      if (envelope.kind === "bench" && envelope.node !== ctx.node.id) heard += 1;
    });
    ctx.provide.route({ method: "GET", path: "/bench/heard", guard: "loopback", handle: () => ({ heard }) });
    ctx.provide.route({
      method: "POST",
      path: "/bench/publish",
      guard: "loopback",
      body: { type: "object", required: ["count", "perSecond"], properties: { count: { type: "integer" }, perSecond: { type: "integer" } } },
      async handle({ body: { count, perSecond } }) {
        const began = performance.now();
        for (let published = 0; published < count; ) {
          const due = Math.min(count, Math.ceil(((performance.now() - began) / 1000) * perSecond));
          for (; published < due; published += 1)
            ctx.events.publish({
              kind: "bench",
              type: "bench:event",
              summary: `event ${published} of a figure`,
              data: { at: published, of: "a task that is done" },
            });
          await new Promise((resolve) => setTimeout(resolve, TICK_MS));
        }
        return { ms: performance.now() - began };
      },
    });
  },
};
