/** An engine that enforces autonomy and writes up any runs as a procedure, after a while; asked for something else it says it back. */
import { setTimeout } from "node:timers/promises";

const ANSWER = { worthwhile: true, name: "Ship release", description: "Ship the weekly release of the shop", procedure: "1. Tag.\n2. Push." };

export default {
  kind: "tier",
  name: "writer",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "writer",
      enforcesAutonomy: true,
      async *run(turn, context) {
        if (turn.messages[0].entry === "procedures") await setTimeout(Math.random() * 60);
        yield { type: "text", text: turn.messages[0].entry === "procedures" ? JSON.stringify(ANSWER) : context.prompt };
        yield { type: "done" };
      },
    });
  },
};
