import { type Agent, definePlugin, type Lifecycle, type ObjectSchema, type Schema, type SectionProblem } from "@svc/sdk";
import { createLedger } from "./ledger.ts";

const FILE = ".mcp.json";
const MAX_BYTES = 1024 * 1024;

const word = (description: string, more: Schema = {}): Schema => ({ type: "string", minLength: 1, description, ...more });
const masked = (description: string): Schema => ({ type: "object", additionalProperties: { type: "string", masked: true }, description });

/** `agents.<id>.mcp.<name>` (001:L47, L73). */
const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    mcp: {
      type: "object",
      description: "tool servers, written to <workspace>/.mcp.json at start",
      propertyNames: { minLength: 1 },
      restart: true,
      additionalProperties: {
        type: "object",
        properties: {
          type: { type: "string", enum: ["stdio", "http"], description: "transport", default: "stdio" },
          command: word("program to start, for stdio"),
          args: { type: "array", items: { type: "string" }, description: "program arguments" },
          env: masked("environment of the program"),
          url: word("server address, for http", { format: "url" }),
          headers: masked("request headers"),
        },
      },
    },
  },
};

/** Each transport needs the key by which its server is found. */
function withoutPlace({ mcp }: Readonly<Record<string, unknown>>): readonly SectionProblem[] {
  return Object.entries(isObject(mcp) ? mcp : {}).flatMap(([name, server]): SectionProblem[] => {
    if (!isObject(server)) return [];
    const [needed, type] = server.type === "http" ? ["url", "http"] : ["command", "stdio"];
    return server[needed as string] === undefined
      ? [{ path: `mcp[${JSON.stringify(name)}].${needed}`, message: `is required when type is ${type}`, severity: "error" }]
      : [];
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

/** Writes `agents.<id>.mcp` to `<workspace>/.mcp.json` at start, by merge: what was added, changed or removed there by hand stays so (001:L47). */
export default definePlugin({
  kind: "feature",
  name: "mcp-config",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  checkAgent: withoutPlace,
  capabilities: ["agents", "data-folder", "files", "store"],
  setup(ctx): Lifecycle {
    const ledger = createLedger(ctx.store);

    async function write(workspace: string, agents: readonly Agent[]): Promise<void> {
      const before = await ledger.read(workspace);
      if (Object.keys(before).length === 0 && agents.every(({ settings }) => settings.mcp === undefined)) return;
      const { merge, serversOf } = await import("./merge.js");
      const { servers, refused } = serversOf(agents, ctx.files.data.roots[0]);
      for (const { agent, server, reason } of refused) ctx.log.error({ agent, server }, `agents.${agent}.mcp.${server} was not written: ${reason}`);
      if (Object.keys(servers).length === 0 && Object.keys(before).length === 0) return;
      let broken = false;
      await ctx.files.under(workspace).change(FILE, MAX_BYTES, (bytes) => {
        const text = bytes === undefined ? undefined : new TextDecoder().decode(bytes);
        const merged = merge(text, servers, before);
        broken = merged === undefined;
        return merged === text ? undefined : merged;
      });
      if (broken) ctx.log.error({ workspace }, `${workspace}/${FILE} is no JSON object with mcpServers; mend it, it was left as it is`);
      else await ledger.write(workspace, servers);
    }

    return {
      async start() {
        const byWorkspace = new Map<string, Agent[]>();
        for (const agent of ctx.agents.list()) byWorkspace.set(agent.workspace, [...(byWorkspace.get(agent.workspace) ?? []), agent]);
        for (const [workspace, agents] of byWorkspace) {
          // One agent's folder must not keep the others from their servers.
          await write(workspace, agents).catch((error: Error) => ctx.log.error({ err: error, workspace }, `${FILE} could not be written`));
        }
      },
    };
  },
});
