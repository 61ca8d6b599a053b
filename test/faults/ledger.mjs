/**
 * An engine that notes each run in the file `SVC_TEST_LEDGER` before it answers, and two channels to the platform at
 * `SVC_TEST_PLATFORM`, so that a test can see what was done and what was said how often. `POST /said` is how the platform tells that
 * a person wrote. A run takes `SVC_TEST_LEDGER_MS` milliseconds. Of the channels `keyed` hands a key over and `keyless` has none to hand over.
 */
import { appendFileSync } from "node:fs";

export default {
  kind: "tier",
  name: "ledger",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["routes", "tasks"],
  setup(ctx) {
    ctx.provide.tier({
      name: "ledger",
      async *run({ id, messages: [{ chat, text }] }) {
        appendFileSync(process.env.SVC_TEST_LEDGER, `${JSON.stringify({ chat, text, taskId: id })}\n`);
        await new Promise((resolve) => setTimeout(resolve, Number(process.env.SVC_TEST_LEDGER_MS ?? text.length % 5)));
        yield { type: "text", text: `did ${text}` };
        yield { type: "done" };
      },
    });

    const channel = (name) =>
      ctx.provide.channel({
        name,
        traits: { maxChars: 1_000, unit: "codepoint", dialect: "plain", keyed: name === "keyed" },
        async send({ target, text, key }, signal) {
          const body = JSON.stringify({ chat: target.chat, text, ...(name === "keyed" ? { key } : {}) });
          return (await fetch(process.env.SVC_TEST_PLATFORM, { method: "POST", body, signal })).json();
        },
      });
    const handles = [channel("keyed"), channel("keyless")];
    ctx.provide.route({
      method: "POST",
      path: "/said",
      guard: "loopback",
      handle: ({ body: { channel, chat, text, key } }) => ctx.tasks.accept({ entry: "channel", channel, chat, text, agent: "ledger", dedupKey: key }),
    });
    return {
      async start() {
        for (const handle of handles) handle.ready();
      },
    };
  },
};
