import { definePlugin } from "@svc/sdk";

/** `http.fetch` (000:L87): one GET to a public address. A 404 is a successful call; a body over 1 MiB is cut and says so. */
export default definePlugin({
  kind: "action",
  name: "http-fetch",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["fetch"],
  setup(ctx) {
    ctx.provide.action({
      name: "http.fetch",
      description: "Fetch a public http or https address with GET and return status, headers and text. Private addresses are refused.",
      input: {
        type: "object",
        properties: { url: { type: "string", description: "An http or https address.", pattern: "^[hH][tT][tT][pP][sS]?://", maxLength: 8192 } },
        required: ["url"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          status: { type: "integer", description: "The HTTP status." },
          statusText: { type: "string" },
          headers: { type: "object", additionalProperties: { type: "string" }, description: "Names in lower case." },
          body: { type: "string", description: "At most 1,048,576 bytes of it, as UTF-8." },
          truncated: { type: "boolean", description: "The body was longer." },
          url: { type: "string", description: "The final address, after redirects." },
        },
        required: ["status", "statusText", "headers", "body", "truncated", "url"],
        additionalProperties: false,
      },
      timeoutMs: 35_000,
      async run(input, { signal }) {
        const { url } = input as { url: string };
        const answer = await ctx.fetch(url, { signal, timeoutMs: 30_000, maxBytes: 1_048_576 });
        const { status, statusText, headers, truncated } = answer;
        return { status, statusText, headers: { ...headers }, body: answer.text(), truncated, url: answer.url };
      },
    });
  },
});
