import { join } from "node:path";
import { definePlugin, type Plugin, type TierEvent } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, runKernel } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

const known = [join(ROOT, "plugins/features/budgets")];

interface Line {
  readonly agent: string;
  readonly period: string;
  readonly turns: number;
  readonly tokens: number;
  readonly money: number;
}

/** An engine that tells 100 tokens, again and again, until it is stopped; how often stands in the prompt. */
const meterTier = (stopped: string[]) =>
  definePlugin({
    kind: "tier",
    name: "spender",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup: (ctx) =>
      ctx.provide.tier({
        name: "spender",
        async *run({ id, messages: [{ text }] }, _context, signal): AsyncIterable<TierEvent> {
          for (let at = 1; at <= Number(text); at += 1) {
            yield { type: "usage", usage: { input: at * 100, output: 0 }, model: "m1" };
            await new Promise((resolve) => setTimeout(resolve, 5));
            if (signal.aborted) {
              stopped.push(id);
              return;
            }
          }
          yield { type: "done", text: "spent" };
        },
      }),
  }) as Plugin<never>;

const start = (budgets: object, stopped: string[] = [], more: object = {}) =>
  runKernel({ agent: { tier: "spender" }, config: { budgets }, known, inline: [meterTier(stopped)], listen: true, ...more });

describe("budgets", () => {
  it("refuse a turn before it starts, with the setting and the time, and count what was told", async () => {
    const { kernel, message } = await start({ agents: { a: { hour: { tokens: 300 } } }, prices: { "m*": { input: 10_000, output: 0 } } });
    expect(await kernel.tasks.run(message("2"))).toMatchObject({ ok: true });
    expect(await kernel.tasks.run(message("2"))).toMatchObject({ ok: true });
    const refused = await kernel.tasks.run(message("2"));
    expect(refused).toMatchObject({ ok: false, errorKind: "budget" });
    expect(refused.error).toMatch(/400 of 300 tokens in this hour \(budgets\.agents\.a\.hour\.tokens\)\. There is room again at \d{4}-/);
    const { budgets } = (await (await fetch(`${baseOf(kernel)}/budgets`)).json()) as { budgets: readonly Line[] };
    expect(budgets.find(({ agent, period }) => agent === "a" && period === "day")).toMatchObject({ turns: 2, tokens: 400, money: 4 });
    expect(budgets.find(({ agent, period }) => agent === "*" && period === "hour")).toMatchObject({ turns: 2, tokens: 400 });
  });

  it("a run that passes its own cap is stopped, and its task says why", async () => {
    const stopped: string[] = [];
    const { kernel, message, events } = await start({ eachAgent: { run: { tokens: 450 } } }, stopped);
    const result = await kernel.tasks.run(message("1000"));
    expect(result).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect(result.error).toBe("cancelled: the run has used 500 tokens, more than 450 tokens (budgets.eachAgent.run.tokens)");
    await expect.poll(() => stopped).toEqual([result.taskId]);
    expect(await kernel.tasks.run(message("4"))).toMatchObject({ ok: true });
    expect(events.some(({ type }) => type === "budget:warned")).toBe(false);
  });

  it("ENG-13 a turn that is run again without its lost session counts both runs, in its window and against its own cap", async () => {
    const tier = scriptedTier("scripted", { nativeSessions: true });
    const { kernel, message } = await runKernel({
      tier,
      config: { session: {}, budgets: { eachAgent: { run: { tokens: 200_002 } } } },
      known: [...known, join(ROOT, "plugins/features/sessions")],
      listen: true,
    });
    await kernel.tasks.run(message("first"));
    expect(await kernel.tasks.run(message("overflow now"))).toMatchObject({ ok: false, errorKind: "cancelled", usage: { input: 200_003, output: 3 } });
    const { budgets } = (await (await fetch(`${baseOf(kernel)}/budgets`)).json()) as { budgets: readonly Line[] };
    expect(budgets.find(({ agent, period }) => agent === "a" && period === "day")).toMatchObject({ turns: 2, tokens: 5 + 200_006 });
  });

  it("a change of the section counts at the next turn; without the section nothing of it is loaded", async () => {
    const file = join((await openShell()).folder, "svc.json");
    const { kernel, message } = await start({ all: { day: { turns: 1 } } }, [], { file });
    expect(await kernel.tasks.run(message("1"))).toMatchObject({ ok: true });
    expect(await kernel.tasks.run(message("1"))).toMatchObject({ ok: false, errorKind: "budget" });
    const { readFile, writeFile } = await import("node:fs/promises");
    const document = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...document, budgets: { all: { day: { turns: 2 } } } }));
    await kernel.reload();
    expect(await kernel.tasks.run(message("1"))).toMatchObject({ ok: true });
    expect(await kernel.tasks.run(message("1"))).toMatchObject({ ok: false });
    const without = await runKernel({ known });
    expect(without.kernel.health().plugins.find(({ id }) => id === "feature-budgets")?.took?.load ?? 0).toBe(0);
  });

  it("svc daemon status and svc budgets show what is used", async () => {
    const shell = await openShell();
    shell.write(echoConfig({}, { budgets: { agents: { echo: { day: { turns: 3 } } } } }));
    try {
      expect((await shell.svc("daemon", "start")).code).toBe(0);
      for (let at = 0; at < 3; at += 1) expect((await shell.svc("exec", "echo", "hello")).out).toContain("hello");
      const refused = await shell.svc("exec", "echo", "hello");
      expect(refused.code).not.toBe(0);
      expect(refused.err).toContain("budgets.agents.echo.day.turns");
      expect((await shell.svc("daemon", "status")).out).toMatch(/budget +echo, this day: used up until .*: turns 3 of 3/);
      expect(await shell.json("budgets", "echo")).toMatchObject({ budgets: [{ period: "hour" }, { period: "day", turns: 3, caps: [{ used: 3, cap: 3 }] }] });
      expect((await shell.svc("budgets", "--help")).code).toBe(0);
    } finally {
      await shell.svc("daemon", "stop");
    }
  });
});
