import { type Answers, objectOf, type Schema } from "@svc/sdk";

const id: Schema = { type: ["string", "integer", "null"] };
const version: Schema = { type: "string", enum: ["2.0"] };

const McpError = objectOf({ jsonrpc: version, error: objectOf({ code: { type: "integer" }, message: { type: "string" } }, { data: {} }), id });

const McpMessage: Schema = {
  anyOf: [objectOf({ jsonrpc: version, id, result: { type: "object", additionalProperties: true } }), McpError],
  description: "An answer of JSON-RPC, whose result the Model Context Protocol describes",
};

const noSessions = [{ status: 405, json: McpError }];

export default {
  schemas: { McpMessage, McpError },
  routes: {
    "POST /mcp/:agent": [
      { json: McpMessage },
      { type: "text/event-stream" },
      // Nothing but notifications was sent.
      { status: 202 },
    ],
    "GET /mcp/:agent": noSessions,
    "DELETE /mcp/:agent": noSessions,
  },
} satisfies Answers;
