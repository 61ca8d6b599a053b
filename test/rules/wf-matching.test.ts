import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { flow, stage } from "./wf.harness.ts";

const BUY = flow([{ id: "end", kind: "end", output: "ordered: {{ input.message }}" }], "start > end", {
  match: { phrases: ["buy a new laptop"] },
  inputSchema: { message: { type: "string", required: true }, sender: { type: "string" } },
});
const PRICED = flow([{ id: "end", kind: "end" }], "start > end", {
  match: { phrases: ["tell me the price"] },
  inputSchema: { price: { type: "number", required: true } },
});

/** Asks the agent `a` over `POST /task` with this matching. */
async function asking(matching: object | undefined, text: string) {
  const folder = await temporaryFolder();
  const workflows = { enabled: true, dir: join(folder, ".svc/workflows"), ...(matching === undefined ? {} : { matching }) };
  const on = await stage({ buy: BUY, priced: PRICED }, { folder, sections: { workflows } });
  const { body } = await on.call("POST", "/task", { agent: "a", message: text }, { accept: "application/json" });
  const { runs } = (await on.call("GET", "/api/workflows/runs")).body as { runs: readonly unknown[] };
  return { reply: body["reply"], turns: on.tier.turns.length, runs };
}

describe("matching", () => {
  it("WF-11 is off by default: the agent answers, whatever the message says", async () => {
    expect(await asking(undefined, "buy a new laptop")).toMatchObject({ turns: 1, runs: [] });
  });

  it("WF-11 suggest only logs, whatever the score", async () => {
    expect(await asking({ enabled: true }, "buy a new laptop")).toMatchObject({ turns: 1, runs: [] });
  });

  it("WF-11 auto runs the workflow instead of the agent from 0.85 on", async () => {
    const { reply, turns, runs } = await asking({ enabled: true, mode: "auto" }, "Buy a new laptop");
    expect({ reply, turns }).toEqual({ reply: "ordered: Buy a new laptop", turns: 0 });
    expect(runs).toMatchObject([{ workflowId: "buy", status: "completed", entry: { kind: "match" } }]);
  });

  it("WF-11 auto below 0.85 only logs", async () => {
    expect(await asking({ enabled: true, mode: "auto" }, "buy a laptop")).toMatchObject({ turns: 1, runs: [] });
  });

  it("WF-11 inputs that the message does not say are no error to the sender: the agent answers", async () => {
    expect(await asking({ enabled: true, mode: "auto" }, "tell me the price")).toMatchObject({ turns: 1, runs: [] });
  });
});

describe("a change of the section", () => {
  it("is taken in place: an action that is at work goes on, and the rest of the section counts from then on", async () => {
    let finish = (_result: string) => {};
    const slow = definePlugin({
      kind: "action",
      name: "slow",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: [],
      setup(ctx) {
        ctx.provide.action({
          name: "slow",
          description: "ends when it is told to",
          input: { type: "object" },
          output: {},
          timeoutMs: 60_000,
          run: (_input, { signal }) =>
            new Promise((resolve, reject) => {
              finish = resolve;
              signal.addEventListener("abort", () => reject(new Error("it was ended")));
            }),
        });
      },
    });
    const act = flow([{ id: "act", kind: "action", action: "slow" }], "start > act");
    const folder = await temporaryFolder();
    const on = await stage({ buy: BUY, act }, { folder, plugins: [slow as unknown as Plugin<never>] });
    const id = await on.start("act");
    await on.untilWaits(id, "act", "effect");
    const file = join(folder, "svc.json");
    const document = JSON.parse(readFileSync(file, "utf8"));
    Object.assign(document.workflows, { editor: "readonly", matching: { enabled: true, mode: "auto" }, dir: join(folder, "other") });
    writeFileSync(file, JSON.stringify(document));
    expect(await on.kernel.reload()).toMatchObject({ restartRequired: ["workflows.dir"], failed: [] });
    expect(await on.call("PUT", "/api/workflows/new", BUY)).toMatchObject({ status: 403 });
    const { body } = await on.call("POST", "/task", { agent: "a", message: "buy a new laptop" }, { accept: "application/json" });
    expect(body["reply"]).toBe("ordered: buy a new laptop");
    finish("done");
    expect((await on.until(id, "completed")).context).toMatchObject({ act: "done" });
  });
});
