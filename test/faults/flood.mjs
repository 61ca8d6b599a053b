/** Publishes as many large events as a request asks for, a few a tick. */
export default {
  kind: "feature",
  name: "flood",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["routes", "events"],
  setup(ctx) {
    ctx.provide.route({
      method: "POST",
      path: "/flood",
      guard: "loopback",
      async handle({ body: { count, size } }) {
        for (let at = 0; at < count; at += 1) {
          ctx.events.publish({ kind: "agent", type: "flood", summary: `event ${at}`, data: { at, text: "x".repeat(size) } });
          if (at % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
        }
        return { published: count };
      },
    });
  },
};
