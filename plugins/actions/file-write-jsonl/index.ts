import { delimiter } from "node:path";
import { definePlugin } from "@svc/sdk";

/**
 * `file.write_jsonl` (000:L90): appends one record as one line with one write, below the roots of `SVC_BUILTIN_FILE_ROOTS` only. Parallel
 * calls do not interleave. A file that does not exist is made, its folder is not.
 */
export default definePlugin({
  kind: "action",
  name: "file-write-jsonl",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["files", "env:SVC_BUILTIN_FILE_ROOTS"],
  setup(ctx) {
    ctx.provide.action({
      name: "file.write_jsonl",
      description: "Append one JSON object as one line to a file. Only files below the operator's roots can be written.",
      input: {
        type: "object",
        properties: {
          path: { type: "string", description: "The file, absolute or from the first root.", minLength: 1, maxLength: 4096 },
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
      async run(input, { signal }) {
        const { path, record } = input as { path: string; record: Record<string, unknown> };
        const roots = ctx.env("SVC_BUILTIN_FILE_ROOTS")?.split(delimiter).filter(Boolean) ?? ["."];
        signal.throwIfAborted();
        // JSON escapes line feeds within strings, so a record can not become two lines.
        const line = `${JSON.stringify(record)}\n`;
        await ctx.files.under(...roots).append(path, line);
        return { path, bytes: new TextEncoder().encode(line).length };
      },
    });
  },
});
