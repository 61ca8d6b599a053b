import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { svcIn } from "./auth.harness.ts";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

it("CON-D1 ENG-4 POST /guard/check and svc guard check answer a question with a command in it", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const node = { id: "n1", name: "Node 1", bind: "127.0.0.1:0" };
  writeFileSync(file, JSON.stringify({ node, agents: { coder: { name: "Coder", workspace: "./w", tier: "cli-a" } } }), { mode: 0o600 });
  const kernel = await createTestKernel({ config: file, known: [join(ROOT, "plugins/tiers/cli-a")], listen: true, env: { PATH: process.env.PATH ?? "" } });
  closers.push(() => kernel.stop({ drainSeconds: 0 }));
  await kernel.start();
  const ask = (autonomy: string) =>
    post(baseOf(kernel), "/guard/check", { agent: "coder", autonomy, tool: "Bash", input: { command: "git push origin main", description: "what it is for" } });
  // Where its program is not installed, a run would not start, and that is the reason.
  expect(await ask("report")).toMatchObject({ status: 200, body: { decision: "deny", reason: expect.any(String) } });
  expect(await ask("act")).toMatchObject({ status: 200, body: { decision: "allow" } });
  const { host, port } = kernel.address as { host: string; port: number };
  writeFileSync(join(folder, ".svc/daemon.json"), JSON.stringify({ pid: process.pid, host, port, startedAt: 0 }));
  const said = await svcIn(folder, ["--json", "guard", "check", "coder", "report", "git push origin main"]);
  expect(JSON.parse(said.stdout)).toMatchObject({ decision: "deny" });
});

it("CON-D1 an action's input and output may be an object of whatever keys", async () => {
  const actor = definePlugin({
    kind: "feature",
    name: "actor",
    version: "1.0.0",
    svc: "*",
    capabilities: ["routes", "actions"],
    setup(ctx) {
      const any = { type: "object" } as const;
      ctx.provide.action({ name: "free.echo", description: "For a test.", timeoutMs: 5_000, input: any, output: any, run: async (input) => input });
      const run = ({ body }: { body: unknown }) => ctx.actions.run("free.echo", body, { door: "http", chain: [] });
      ctx.provide.route({ method: "POST", path: "/free", guard: "open", body: any, handle: run });
    },
  });
  const { kernel } = await runKernel({ inline: [actor as Plugin<never>], listen: true });
  const body = { any: { key: ["there", { is: 1 }] } };
  expect(await post(baseOf(kernel), "/free", body)).toMatchObject({ status: 200, body: { status: "ok", output: body } });
});
