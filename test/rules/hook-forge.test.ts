import type { Kernel } from "@svc/kernel";
import type { ForgeNote, Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { forgeHooks } from "../../plugins/features/forge-hooks/index.ts";
import { runKernel } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { channelOf, deliver, MemoryForge } from "./hook-forge.harness.ts";

const agent = (extra: object = {}) => ({ name: "Agent", workspace: "./w", tier: "scripted", ...extra });
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

async function run(forge = new MemoryForge(), agents: Record<string, object> = {}, options: object = {}) {
  const tier = scriptedTier("scripted", { enforcesAutonomy: true });
  const running = await runKernel({
    tier,
    inline: [forgeHooks({ lagMs: 20, port: 0 }) as unknown as Plugin<never>, channelOf(forge)],
    listen: true,
    config: { agents: { "my-agent": agent(), "my-agent-2": agent(), ...agents }, node: { id: "n1", name: "N", bind: "127.0.0.1:0" } },
    ...options,
  });
  return { ...running, tier, forge };
}
const hook = (kernel: Kernel, forge: MemoryForge, note: ForgeNote) => deliver(kernel, forge, { kind: "note", note });
const decisions = async (kernel: Kernel) =>
  (
    (await (await fetch(`http://127.0.0.1:${kernel.address?.port}/forges?limit=100`)).json()) as {
      decisions: { url: string; agents: string[]; reason?: string }[];
    }
  ).decisions;

describe("forges", () => {
  it("a mention is answered by one comment that grows", async () => {
    const { kernel, forge, tier } = await run();
    const note = forge.write("@my-agent hello");
    expect(await hook(kernel, forge, note)).toMatchObject({ status: 202 });
    await until(() => expect(tier.prompts).toHaveLength(1));
    await until(() => expect(forge.posted[0]?.texts.at(-1)).toContain("answered"));
    expect(forge.posted).toHaveLength(1);
    expect(await decisions(kernel)).toMatchObject([{ agents: ["my-agent"] }]);
  });
});
