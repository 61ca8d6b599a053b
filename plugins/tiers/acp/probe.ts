import { tmpdir } from "node:os";
import type { Agent, PluginContext, SvcError } from "@svc/sdk";
import { type LineRpc, openLineRpc, probeEngine } from "@svc/sdk/engine";
import { launchOf } from "./launch.ts";
import { refusal } from "./reader.ts";
import { introduce, signIn } from "./run.ts";
import { type AcpSettings, acpSettings } from "./settings.ts";

/**
 * Is the program there, does it speak the protocol, and does it open a session for the agent? Starts it once and asks no model.
 * Without an agent only the section's own program is asked.
 */
export function probe(ctx: PluginContext<AcpSettings>, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const asked = agent ?? { id: "probe", name: "probe", workspace: tmpdir(), tier: "acp", mentions: [], access: "private", settings: {} };
  let session: () => string = () => "";
  return probeEngine({
    async installed() {
      if (agent === undefined && ctx.config.command === undefined) return "each agent has a program of its own";
      const launch = launchOf(ctx, asked);
      const rpc = openLineRpc(ctx.spawn, launch);
      try {
        await rpc.started;
        const program = await introduce(rpc);
        session = await openOne(rpc).then(
          (words) => () => words,
          (error: SvcError) => () => {
            throw error.code === "SVC_RPC_REFUSED" ? new Error(refusal(error, program).message) : error;
          },
        );
        return `${acpSettings(ctx.config, asked).command} ${program.name}`.trim();
      } finally {
        await rpc.stop();
      }
    },
    signedIn: async () => session(),
  });

  async function openOne(rpc: LineRpc): Promise<string> {
    if (agent === undefined) return "sign-in: asked for each agent";
    await signIn(rpc, acpSettings(ctx.config, agent).authMethod);
    await rpc.request("session/new", { cwd: agent.workspace, mcpServers: [] });
    return "a session can be opened";
  }
}
