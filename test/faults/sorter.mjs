/** An engine for phone triage: proposes the reply `got <ids>` with the words `m-<n>` that its prompt has. */
export default {
  kind: "tier",
  name: "sorter",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    ctx.provide.tier({
      name: "sorter",
      async *run(_turn, { prompt }) {
        const ids = [...new Set(prompt.match(/m-\d+/g))];
        await new Promise((resolve) => setTimeout(resolve, ids.length % 7));
        yield { type: "text", text: JSON.stringify({ action: "reply", summary: "words", reply: `got ${ids.join(" ")}` }) };
        yield { type: "done" };
      },
    });
  },
};
