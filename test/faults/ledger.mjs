/** An engine that notes each run in the file `SVC_TEST_LEDGER` before it answers, so that a test can see what was done how often. */
import { appendFileSync } from "node:fs";

export default {
  kind: "tier",
  name: "ledger",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "ledger",
      async *run({ id, messages: [{ chat, text }] }) {
        appendFileSync(process.env.SVC_TEST_LEDGER, `${JSON.stringify({ chat, text, taskId: id })}\n`);
        await new Promise((resolve) => setTimeout(resolve, text.length % 5));
        yield { type: "text", text: `did ${text}` };
        yield { type: "done" };
      },
    });
  },
};
