import { realpathSync, statSync } from "node:fs";
import { type PluginContext, svcError } from "@svc/sdk";
import { type Bubblewrap, findBubblewrap, type Proof, proveWall, unfit } from "@svc/sdk/engine";
import type { Level } from "./guard.ts";
import type { Section } from "./settings.ts";

/** Which boundary a restricted run gets here, and why no better one. */
export interface Walls {
  /** `obstacle` is what speaks against the wall for this run. Throws `SVC_GUARD_WALL` where the section requires it and it cannot be had. */
  levelOf(run: { readonly workspace: string; readonly writable: boolean; readonly version: string; readonly obstacle?: string }): Promise<Level>;
}

/** A wall is proved before its first use: once for each start of the daemon, bubblewrap, program and mode. */
export function createWalls(ctx: PluginContext<Section>): Walls {
  const proofs = new Map<string, Promise<Proof>>();

  function prove(bubblewrap: Bubblewrap, version: string, writable: boolean): Promise<Proof> {
    const { mtimeMs, size } = statSync(bubblewrap.bwrap);
    const key = JSON.stringify([bubblewrap, mtimeMs, size, version, writable]);
    const proof = proofs.get(key) ?? proveWall(ctx.spawn, bubblewrap, writable);
    proofs.set(key, proof);
    return proof;
  }

  async function find({ workspace, writable, version, obstacle }: Parameters<Walls["levelOf"]>[0]): Promise<Level> {
    const narrow = (reason: string): Level => ({ kind: "narrow", reason });
    if (ctx.config.guard?.wall === "off") return narrow("tiers.cli-a.guard.wall is 'off'");
    if (process.platform !== "linux") return narrow("walls are made of Linux namespaces");
    const bwrap = findBubblewrap(ctx.env("PATH") ?? "");
    if (bwrap === undefined) return narrow("bubblewrap (bwrap) is not on PATH; install the package bubblewrap");
    if (obstacle !== undefined) return narrow(obstacle);
    const reason = unfit({ workspace: realpathSync(workspace), writable, readable: [] });
    if (reason !== undefined) return narrow(reason);
    const bubblewrap = { bwrap, ownProcesses: process.getuid?.() !== 0 };
    const proof = await prove(bubblewrap, version, writable);
    return proof.holds ? { kind: "wall", bubblewrap } : narrow(`the wall does not hold here: ${proof.reason}`);
  }

  return {
    async levelOf(run) {
      const level = await find(run);
      if (level.kind === "wall" || ctx.config.guard?.wall !== "require") return level;
      throw svcError("SVC_GUARD_WALL", `tier cli-a: tiers.cli-a.guard.wall is 'require', but there is no wall: ${level.reason}.`, {
        path: "tiers.cli-a.guard.wall",
      });
    },
  };
}
