/** An engine that keeps its sessions itself: it notes each run in `SVC_TEST_LEDGER` with the session that it went on with. A text with `hold` waits for the file `hold` beside it to go. */
import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";

export default {
  kind: "tier",
  name: "keeper",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "keeper",
      abilities: { nativeSessions: true },
      async *run({ id, messages: [{ text }] }, { session }, signal) {
        const ledger = process.env.SVC_TEST_LEDGER;
        appendFileSync(ledger, `${JSON.stringify({ run: text, session: session ?? null })}\n`);
        const gate = join(dirname(ledger), "hold");
        while (text.startsWith("hold") && existsSync(gate) && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
        yield { type: "session", id: session ?? `native of ${id}` };
        yield { type: "text", text: `did ${text}` };
        yield { type: "done" };
      },
    });
  },
};
