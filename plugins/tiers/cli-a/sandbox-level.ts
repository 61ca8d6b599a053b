import { realpathSync, statSync } from "node:fs";
import { type PluginContext, svcError } from "@svc/sdk";
import { type Bubblewrap, checkSandbox, findBubblewrap, type SandboxCheck, sandboxObstacle } from "@svc/sdk/engine";
import type { Level } from "./guard.ts";
import type { Section } from "./settings.ts";

/** Boundary of a restricted run here, and why there is no better one. */
export interface SandboxLevels {
  /** `obstacle` is what speaks against a sandbox for this run. Throws `SVC_GUARD_WALL` where the section requires it and it cannot be had. */
  levelOf(run: { readonly workspace: string; readonly writable: boolean; readonly version: string; readonly obstacle?: string }): Promise<Level>;
}

/** A sandbox is checked before its first use: once for each start of the daemon, bubblewrap, program and mode. */
export function createSandboxLevels(ctx: PluginContext<Section>): SandboxLevels {
  const checks = new Map<string, Promise<SandboxCheck>>();

  function checked(bubblewrap: Bubblewrap, version: string, writable: boolean): Promise<SandboxCheck> {
    const { mtimeMs, size } = statSync(bubblewrap.bwrap);
    const key = JSON.stringify([bubblewrap, mtimeMs, size, version, writable]);
    const check = checks.get(key) ?? checkSandbox(ctx.spawn, bubblewrap, writable);
    checks.set(key, check);
    return check;
  }

  async function find({ workspace, writable, version, obstacle }: Parameters<SandboxLevels["levelOf"]>[0]): Promise<Level> {
    const narrow = (reason: string): Level => ({ kind: "narrow", reason });
    if (ctx.config.guard?.wall === "off") return narrow("tiers.cli-a.guard.wall is 'off'");
    if (process.platform !== "linux") return narrow("sandboxes are made of Linux namespaces");
    const bwrap = findBubblewrap(ctx.env("PATH") ?? "");
    if (bwrap === undefined) return narrow("bubblewrap (bwrap) is not on PATH; install the package bubblewrap");
    if (obstacle !== undefined) return narrow(obstacle);
    const reason = sandboxObstacle({ workspace: realpathSync(workspace), writable, readable: [] });
    if (reason !== undefined) return narrow(reason);
    const bubblewrap = { bwrap, ownProcesses: process.getuid?.() !== 0 };
    const check = await checked(bubblewrap, version, writable);
    return check.holds ? { kind: "wall", bubblewrap } : narrow(`the sandbox does not hold here: ${check.reason}`);
  }

  return {
    async levelOf(run) {
      const level = await find(run);
      if (level.kind === "wall" || ctx.config.guard?.wall !== "require") return level;
      throw svcError("SVC_GUARD_WALL", `tier cli-a: tiers.cli-a.guard.wall is 'require', but there is no sandbox: ${level.reason}.`, {
        path: "tiers.cli-a.guard.wall",
      });
    },
  };
}
