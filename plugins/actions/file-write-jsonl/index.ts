import { delimiter, isAbsolute } from "node:path";
import { definePlugin } from "@svc/sdk";

/**
 * `file.write_jsonl` (000:L90): appends one record as one line with one write, below the roots of `SVC_BUILTIN_FILE_ROOTS` only. Parallel
 * calls do not interleave. A file that does not exist is made with its folders. An agent's relative paths start at its workspace, which is
 * a root as well where none were set.
 */
export default definePlugin({
  kind: "action",
  name: "file-write-jsonl",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "files", "env:SVC_BUILTIN_FILE_ROOTS"],
  setup(ctx) {
    ctx.provide.action({
      name: "file.write_jsonl",
      description: "Append one JSON object as one line to a file. Only files below the operator's roots can be written.",
      input: {
        type: "object",
        properties: {
          path: {
            type: "string",
            description: "The file, absolute or from the agent's workspace; without an agent from the first root.",
            minLength: 1,
            maxLength: 4096,
          },
          record: { type: "object", description: "The record. Lists and bare values are refused.", additionalProperties: true },
        },
        required: ["path", "record"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: { path: { type: "string" }, bytes: { type: "integer", description: "Bytes appended, the line end among them." } },
        required: ["path", "bytes"],
        additionalProperties: false,
      },
      timeoutMs: 30_000,
      async run(input, { signal, agent }) {
        const { path, record } = input as { path: string; record: Record<string, unknown> };
        const workspace = agent === undefined ? undefined : ctx.agents.get(agent)?.workspace;
        const set = ctx.env("SVC_BUILTIN_FILE_ROOTS")?.split(delimiter).filter(Boolean);
        const roots = set ?? [...(workspace === undefined ? [] : [workspace]), "."];
        const file = workspace === undefined || isAbsolute(path) ? path : `${workspace}/${path}`;
        signal.throwIfAborted();
        // JSON escapes line feeds within strings, so a record cannot become two lines.
        const line = `${JSON.stringify(record)}\n`;
        await ctx.files.under(...roots).append(file, line);
        return { path, bytes: new TextEncoder().encode(line).length };
      },
    });
  },
});
