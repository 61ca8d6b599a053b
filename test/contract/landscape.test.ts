import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createKernel } from "@svc/kernel";
import type { Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import agentCall from "../../plugins/actions/agent-call/index.ts";
import meshDelegate from "../../plugins/actions/mesh-delegate/index.ts";
import ragLexical from "../../plugins/actions/rag-lexical/index.ts";
import agentActions from "../../plugins/features/agent-actions/index.ts";
import operatorActions from "../../plugins/features/operator-actions/index.ts";
import { runContext, textOf } from "../kit/context.ts";
import { baseOf, post, temporaryFolder } from "../kit/kernel.ts";

const inline = [agentCall, meshDelegate] as Plugin<never>[];
const others = { b: { name: "Bob", workspace: "./b", tier: "scripted", systemPrompt: "You check." } };

it.each([
  [["agent.*"], true],
  [["http.*"], false],
  [[], false],
])("CON-D3 an agent whose tier offers %j is told of agent.call: %s; of the others it is told in each case", async (callable, told) => {
  const { say, tier } = await runContext({ inline, others, callable });
  const text = textOf(await say("hello"), "landscape");
  expect(text).toContain("- b (Bob): You check.");
  expect(text.includes("agent_call")).toBe(told);
  expect(tier.turns[0]?.turn.actions).toEqual(told ? ["agent.call"] : []);
});

it("CON-D9 mesh.delegate is in the catalogue with the reason why it cannot be used, and offered to no agent", async () => {
  const { kernel, say, tier } = await runContext({
    inline: [...inline, operatorActions] as Plugin<never>[],
    callable: ["*"],
    listen: true,
    env: { PATH: process.env["PATH"] ?? "" },
  });
  await say("hello");
  expect(tier.turns[0]?.turn.actions).toEqual(["agent.call"]);
  expect((await kernel.capability("a")).actions).not.toContain("mesh.delegate");
  const catalogue = (await (await fetch(`${baseOf(kernel)}/api/actions/builtin`)).json()) as { actions: { name: string; unusable?: string }[] };
  expect(catalogue.actions.map(({ name, unusable }) => [name, unusable !== undefined])).toEqual([
    ["agent.call", false],
    ["mesh.delegate", true],
  ]);
  const { body } = await post(baseOf(kernel), "/api/actions/builtin/mesh.delegate", { peer: "attic", agent: "x", message: "hi" });
  expect(body["error"]).toContain("the section mesh of svc.json is missing or off");
});

it("GET /agents/:id/capability lists the actions that the agent may use, and what of them a run that may only report may use", async () => {
  const { kernel } = await runContext({
    inline: [...inline, ragLexical, agentActions] as Plugin<never>[],
    listen: true,
    others: {
      narrow: { name: "N", workspace: "./n", tier: "scripted", actions: ["agent.*", "mesh.*"] },
      open: { name: "O", workspace: "./o", tier: "scripted", access: "public" },
      planning: { name: "P", workspace: "./p", tier: "scripted", permissionMode: "plan", actions: ["*"] },
    },
  });
  const may = async (agent: string) => {
    const { actions, reportingActions } = (await (await fetch(`${baseOf(kernel)}/agents/${agent}/capability`)).json()) as Record<string, unknown>;
    return [actions, reportingActions];
  };
  expect(await may("a")).toEqual([["agent.call", "rag.lexical"], ["rag.lexical"]]);
  expect(await may("narrow")).toEqual([["agent.call"], []]);
  expect(await may("open")).toEqual([[], []]);
  expect(await may("planning")).toEqual([[], []]);
});

it("CON-D2 an agent with codeindex is indexed without being asked for, and one without is not", async () => {
  const folder = await temporaryFolder();
  for (const workspace of ["a", "b"]) {
    await mkdir(join(folder, workspace));
    await writeFile(join(folder, workspace, "pump.ts"), "export function startPump() {}\n");
  }
  const agent = (workspace: string, codeindex: boolean) => ({ name: workspace, workspace: `./${workspace}`, tier: "local", codeindex });
  await writeFile(
    join(folder, "svc.json"),
    JSON.stringify({ node: { id: "n", name: "N", bind: "127.0.0.1:0" }, agents: { a: agent("a", true), b: agent("b", false) } }),
  );
  const known = ["tiers/local", "actions/rag-lexical", "features/operator-actions"].map((name) =>
    fileURLToPath(new URL(`../../plugins/${name}`, import.meta.url)),
  );
  const kernel = await createKernel({ config: join(folder, "svc.json"), listen: true, env: { PATH: process.env["PATH"] ?? "" }, known });
  try {
    await kernel.start();
    const search = async (agentId: string) => (await post(baseOf(kernel), "/api/actions/builtin/rag.lexical", { agentId, query: "startPump" })).body;
    await expect.poll(() => search("a"), { timeout: 20_000, interval: 250 }).toMatchObject({ output: { results: [{ path: "pump.ts", line: 1 }] } });
    expect(await search("b")).toMatchObject({ status: "error", error: expect.stringContaining("svc agent index b") });
  } finally {
    await kernel.stop({ drainSeconds: 0 });
  }
});
