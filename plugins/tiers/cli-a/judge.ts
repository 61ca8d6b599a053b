import type { Agent, PluginContext } from "@svc/sdk";
import { childEnvironment } from "./environment.ts";
import type { Decision, GuardedCall, Level } from "./guard.ts";
import { restrict } from "./restricted.ts";
import { readAgent, type Section } from "./settings.ts";
import type { Switches } from "./switches.ts";
import type { Walls } from "./walls.ts";

/** What a run of the agent would be told about a call, by the same steps as the run itself. What cannot be prepared is refused. */
export async function judge(
  ctx: PluginContext<Section>,
  { walls, switchesOf, find }: { readonly walls: Walls; readonly switchesOf: (program: string) => Promise<Switches>; readonly find: () => string },
  agent: Agent,
  autonomy: "report" | "propose",
  call: GuardedCall,
): Promise<Decision & { readonly guard: Level["kind"] }> {
  try {
    const settings = readAgent(agent);
    const program = find();
    const env = childEnvironment(agent.id, settings, ctx.config, (name) => ctx.env(name));
    const held = await restrict(ctx, walls, { agent, settings, autonomy, program, env, switches: await switchesOf(program) });
    try {
      const { allow, reason } = await held.decide(call);
      return { allow, reason, guard: held.level.kind };
    } finally {
      await held.end();
    }
  } catch (error) {
    return { allow: false, reason: `such a run would not start: ${(error as Error).message}`, guard: "narrow" };
  }
}
