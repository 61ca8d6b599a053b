import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, PluginContext, SvcError } from "@svc/sdk";
import { programSettings } from "@svc/sdk/program-tier";
import { environmentOf } from "./environment.ts";
import { type Decision, decide, type GuardedCall, type Level } from "./guard.ts";
import { mayChange } from "./permission.ts";
import { findProgram } from "./program.ts";
import { restrict } from "./restricted.ts";
import type { SandboxLevels } from "./sandbox-level.ts";
import type { Section } from "./settings.ts";
import type { Switches } from "./switches.ts";

/** Errors that prevent a run and are unrelated to the call. */
const NOT_READY = ["SVC_TIER_PROGRAM", "SVC_BILLING_KEY_MISSING", "SVC_BILLING_KEY_REFUSED", "SVC_SPAWN_FAILED"];

type Judged = Decision & { readonly guard: Level["kind"] };

/**
 * Returns the decision that a run of the agent would get for a call, by the same steps as the run itself. Without its program or key the narrower
 * boundary decides; a call that cannot be judged is refused.
 */
export async function judge(
  ctx: PluginContext<Section>,
  { sandboxes, switchesOf }: { readonly sandboxes: SandboxLevels; readonly switchesOf: (program: string) => Promise<Switches> },
  agent: Agent,
  autonomy: "report" | "propose",
  call: GuardedCall,
): Promise<Judged> {
  try {
    const settings = programSettings(agent);
    const program = findProgram(ctx.config.command ?? "claude", ctx.env("PATH") ?? "");
    const { env } = environmentOf(agent.id, settings, ctx.config, (name) => ctx.env(name));
    const held = await restrict(ctx, sandboxes, { agent, settings, autonomy, program, env, switches: await switchesOf(program) });
    try {
      const { allow, reason } = await held.decide(call);
      return { allow, reason, guard: held.level.kind };
    } finally {
      await held.end();
    }
  } catch (error) {
    const { code, message } = error as SvcError;
    if (NOT_READY.includes(code)) return narrowly(ctx, agent, autonomy, call);
    return { allow: false, reason: `such a run would not start: ${message}`, guard: "narrow" };
  }
}

async function narrowly(ctx: PluginContext<Section>, agent: Agent, autonomy: "report" | "propose", call: GuardedCall): Promise<Judged> {
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), "svc-guard-")));
  try {
    const { servers, permissionMode } = programSettings(agent);
    const options = {
      autonomy,
      writable: mayChange(permissionMode, autonomy),
      level: { kind: "narrow", reason: "the program is not ready" },
      workspace: realpathSync(agent.workspace),
      folders: ctx.config.guard?.folders ?? [],
      servers: servers.filter((name) => ctx.config.guard?.servers?.includes(name)),
      searchPath: ctx.env("PATH") ?? "",
      scratch,
    } as const;
    const { allow, reason } = await decide(options, call);
    return { allow, reason, guard: "narrow" };
  } catch (error) {
    return { allow: false, reason: `it cannot be judged: ${(error as Error).message}`, guard: "narrow" };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
