import { definePlugin, svcError } from "@svc/sdk";

/** Set by the connection itself; a caller's value could only make the request ambiguous. */
const OWN_HEADERS = ["host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive"];

/** `http.post` (000:L88): a JSON body to a public address; the answer has the shape of `http.fetch`. */
export default definePlugin({
  kind: "action",
  name: "http-post",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["fetch"],
  setup(ctx) {
    ctx.provide.action({
      name: "http.post",
      description: "Send a JSON body to a public http or https address with POST and return status, headers and text. Private addresses are refused.",
      input: {
        type: "object",
        properties: {
          url: { type: "string", description: "An http or https address.", pattern: "^[hH][tT][tT][pP][sS]?://", maxLength: 8192 },
          body: { description: "Any JSON; sent as it is." },
          headers: {
            type: "object",
            description: "Additional headers; content-type is application/json unless given.",
            propertyNames: { type: "string", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" },
            additionalProperties: { type: "string", pattern: "^[^\\r\\n\\u0000]*$" },
          },
        },
        required: ["url", "body"],
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
      async run(input, { signal, key }) {
        const { url, body, headers = {} } = input as { url: string; body: unknown; headers?: Record<string, string> };
        const own = Object.keys(headers).find((name) => OWN_HEADERS.includes(name.toLowerCase()));
        if (own !== undefined)
          throw svcError("SVC_ACTION_HEADER", `http.post sets the header '${own}' itself; leave it out.`, { status: 400, field: "headers" });
        const answer = await ctx.fetch(url, {
          method: "POST",
          headers: { "content-type": "application/json", ...(key === undefined ? {} : { "idempotency-key": key }), ...lowerCase(headers) },
          body: JSON.stringify(body),
          signal,
          timeoutMs: 30_000,
          maxBytes: 1_048_576,
        });
        return {
          status: answer.status,
          statusText: answer.statusText,
          headers: { ...answer.headers },
          body: answer.text(),
          truncated: answer.truncated,
          url: answer.url,
        };
      },
    });
  },
});

const lowerCase = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
