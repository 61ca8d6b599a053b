import { definePlugin, type Schema } from "@svc/sdk";

/** `extract.structured` (000:L91): one forced-tool call to the small model; the output is the value, in the shape of the caller's schema. */
export default definePlugin({
  kind: "action",
  name: "extract-structured",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["models"],
  setup(ctx) {
    ctx.provide.action({
      name: "extract.structured",
      description: "Turn text into typed data: one model call that must answer in the shape of a JSON schema. Needs a model API key.",
      input: {
        type: "object",
        properties: {
          prompt: { type: "string", description: "The text and what to take from it.", minLength: 1, maxLength: 400_000 },
          schema: {
            type: "object",
            description: "The JSON schema of the answer; an object at the top.",
            properties: { type: { const: "object" } },
            required: ["type"],
            additionalProperties: true,
          },
        },
        required: ["prompt", "schema"],
        additionalProperties: false,
      },
      output: { type: "object", description: "The value, in the shape of the given schema.", additionalProperties: true },
      timeoutMs: 120_000,
      async run(input, { signal }) {
        const { prompt, schema } = input as { prompt: string; schema: Schema };
        return await ctx.models.extract({ prompt, schema, signal });
      },
    });
  },
});
