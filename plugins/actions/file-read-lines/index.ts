import { delimiter, isAbsolute } from "node:path";
import { definePlugin, svcError } from "@svc/sdk";

const MAX_BYTES = 8 * 1024 * 1024;

/**
 * `file.read_lines` (000:L89): a UTF-8 text file as a list of lines, below the roots of `SVC_BUILTIN_FILE_ROOTS` only (several joined by
 * the platform's path delimiter; default the daemon's folder). An agent's relative paths start at its workspace, which is a root as well
 * where none were set. Over 8 MiB and invalid UTF-8 are errors, never a part of the file.
 */
export default definePlugin({
  kind: "action",
  name: "file-read-lines",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "files", "env:SVC_BUILTIN_FILE_ROOTS"],
  setup(ctx) {
    ctx.provide.action({
      name: "file.read_lines",
      description: "Read a UTF-8 text file and return its lines. Only files below the operator's roots can be read.",
      input: {
        type: "object",
        properties: {
          path: {
            type: "string",
            description: "The file, absolute or from the agent's workspace; without an agent from the first root.",
            minLength: 1,
            maxLength: 4096,
          },
        },
        required: ["path"],
        additionalProperties: false,
      },
      output: { type: "array", items: { type: "string" }, description: "The lines without their ends." },
      timeoutMs: 30_000,
      async run(input, { signal, agent }) {
        const { path } = input as { path: string };
        const workspace = agent === undefined ? undefined : ctx.agents.get(agent)?.workspace;
        const set = ctx.env("SVC_BUILTIN_FILE_ROOTS")?.split(delimiter).filter(Boolean);
        const roots = set ?? [...(workspace === undefined ? [] : [workspace]), "."];
        const file = workspace === undefined || isAbsolute(path) ? path : `${workspace}/${path}`;
        signal.throwIfAborted();
        return linesOf(decode(await ctx.files.under(...roots).read(file, MAX_BYTES), path));
      },
    });
  },
});

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw svcError("SVC_FILE_NOT_TEXT", `${path} is not valid UTF-8; file.read_lines reads text files only.`, { status: 422, path, cause });
  }
}

/** A final line end adds no empty line. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}
