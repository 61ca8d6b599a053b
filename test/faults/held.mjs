/**
 * An engine that notes in the file `SVC_TEST_LEDGER` when a run begins and ends, and on which node. A text that begins with `hold` waits
 * until its file beside the ledger is gone, or the run is ended.
 */
import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";

export default {
  kind: "tier",
  name: "held",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    const note = (line) => appendFileSync(process.env.SVC_TEST_LEDGER, `${JSON.stringify({ node: ctx.node.id, ...line })}\n`);
    ctx.provide.tier({
      name: "held",
      async *run({ id, messages: [{ chat, text }] }, _context, signal) {
        note({ at: "begin", taskId: id, chat, text });
        const gate = join(dirname(process.env.SVC_TEST_LEDGER), text.split(" ")[0]);
        do await new Promise((resolve) => setTimeout(resolve, 20));
        while (text.startsWith("hold") && existsSync(gate) && !signal.aborted);
        note({ at: signal.aborted ? "ended" : "end", taskId: id, chat, text });
        yield { type: "text", text: `${ctx.node.id} did ${text}` };
        yield { type: "done" };
      },
    });
  },
};
