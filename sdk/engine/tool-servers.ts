import type { Log } from "../plugin.ts";
import type { TierEvent } from "../tier.ts";

/** Callbacks by which a reader reports the tool servers of one agent. */
export interface ServerNews {
  started(server: string): void;
  /** Answers with the events to pass on. */
  failed(server: string, reason: string): readonly TierEvent[];
}

/** Reports tool servers of an agent that did not start: as a step and in the log, once until it starts or fails in another way. */
export interface ToolServers {
  started(agent: string, server: string): void;
  failed(agent: string, server: string, reason: string): readonly TierEvent[];
  /** The same for one agent. */
  of(agent: string): ServerNews;
}

/** Creates the log of tool servers. `who` begins each line: `tier acme`. */
export function createToolServers(log: Log, who: string): ToolServers {
  const known = new Map<string, string>();
  const servers: ToolServers = {
    of: (agent) => ({ started: (server) => servers.started(agent, server), failed: (server, reason) => servers.failed(agent, server, reason) }),
    started: (agent, server) => void known.delete(`${agent} ${server}`),
    failed(agent, server, reason) {
      const key = `${agent} ${server}`;
      if (known.get(key) === reason) return [];
      known.set(key, reason);
      const error = `The tool server '${server}' did not start: ${reason}`;
      log.warn({ agent, server, reason }, `${who}: a tool server of the agent did not start; its tools are missing (agents.<id>.mcp or .mcp.json)`);
      return [{ type: "step", step: { id: `server ${server}`, name: `mcp ${server}`, phase: "end", error } }];
    },
  };
  return servers;
}
