/**
 * An engine whose answer grows: a word, and the next one once there is a file `step-<n>` in the folder `SVC_TEST_STEPS`. Its sessions hold its
 * conversations on the node where they began.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

export default {
  kind: "tier",
  name: "growing",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    const reached = async (step, signal) => {
      while (!existsSync(join(process.env.SVC_TEST_STEPS, step)) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    ctx.provide.tier({
      name: "growing",
      abilities: { nativeSessions: true },
      async *run({ messages: [{ text }] }, _context, signal) {
        yield { type: "session", id: "growing" };
        yield { type: "text", text: `${ctx.node.id}:` };
        for (const [n, word] of text.split(" ").entries()) {
          await reached(`step-${n}`, signal);
          yield { type: "text", text: ` ${word}` };
        }
        yield { type: "done" };
      },
    });
  },
};
