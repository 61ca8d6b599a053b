import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import subscriptions from "../../plugins/features/subscriptions/index.ts";
import { runKernel } from "../kit/kernel.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 10 });
const inline = [subscriptions as Plugin<never>];
const announce = (kernel: { bus: { publish(event: object): unknown } }, summary: string) => kernel.bus.publish({ kind: "announce", type: "announce", summary });

describe("subscriptions", () => {
  it("EVT-16 wake starts the agent once for events that come together, and never for what its own run caused", async () => {
    const { kernel, tier, events } = await runKernel({
      inline,
      agent: { subscriptions: [{ kinds: ["announce", "agent", "message"], delivery: "wake", maxPerHour: 5 }] },
    });
    const before = tier.prompts.length;
    announce(kernel, "first");
    announce(kernel, "second");
    await until(() => tier.prompts.length === before + 1);
    expect(tier.prompts.at(-1)).toMatch(/announce: first\n.*announce: second$/);
    await until(() => kernel.tasks.running().length === 0);
    // Its own started, completed and matched events went by meanwhile, with a subscription that takes anything.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(tier.prompts.length).toBe(before + 1);
    const woken = events.filter(({ type }) => type === "task:started").at(-1);
    expect(woken?.rootId).toBe(events.find(({ summary }) => summary === "first")?.rootId);
  });

  it("EVT-16 maxPerHour caps it", async () => {
    const { kernel, tier } = await runKernel({ inline, agent: { subscriptions: [{ kinds: ["announce"], delivery: "wake", maxPerHour: 1 }] } });
    announce(kernel, "one");
    await until(() => tier.prompts.length === 1);
    announce(kernel, "two");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(tier.prompts).toHaveLength(1);
  });

  it("EVT-16 pull never starts a run; digest appears only in a fresh conversation", async () => {
    const { kernel, tier, message } = await runKernel({
      inline,
      agent: {
        subscriptions: [
          { kinds: ["announce"], delivery: "pull" },
          { kinds: ["announce"], delivery: "digest" },
        ],
      },
    });
    announce(kernel, "the deploy is done");
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    expect(tier.prompts).toEqual([]);
    await kernel.tasks.run(message("hello"));
    expect(tier.turns[0]?.context.layers).toMatchObject([{ name: "events", text: expect.stringContaining("the deploy is done") }]);
  });
});

describe("svc mcp", () => {
  it("serves an agent's tools over stdio to a client of another make, and prints nothing but frames", async () => {
    const shell = await openShell();
    shell.write(echoConfig({ subscriptions: [{ kinds: ["status"] }] }));
    await shell.svc("daemon", "start");
    try {
      const program = join(fileURLToPath(new URL("../../", import.meta.url)), "cli/bin/svc.cjs");
      const child = spawn(process.execPath, [program, "mcp", "--agent", "echo"], { cwd: shell.folder, stdio: ["pipe", "pipe", "inherit"] });
      const frames: { id?: number; result?: Record<string, never> }[] = [];
      let rest = "";
      child.stdout.on("data", (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) frames.push(JSON.parse(line));
      });
      const ask = async (id: number, method: string, params: object) => {
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
        await until(() => frames.some((frame) => frame.id === id));
        return frames.find((frame) => frame.id === id)?.result as unknown;
      };
      await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } });
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
      const { tools } = (await ask(2, "tools/list", {})) as { tools: { name: string }[] };
      expect(tools).toContainEqual(expect.objectContaining({ name: "svc_events", inputSchema: expect.objectContaining({ type: "object" }) }));
      const called = (await ask(3, "tools/call", { name: "svc_events", arguments: {} })) as { content: { text: string }[] };
      expect(JSON.parse(called.content[0]!.text).events[0].text).toContain("Test started");
      expect(await ask(4, "tools/call", { name: "no_such_tool", arguments: {} })).toMatchObject({ isError: true });
      child.stdin.end();
      expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(0);
    } finally {
      await shell.svc("daemon", "stop");
    }
  });
});
