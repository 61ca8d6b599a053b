import { Writable } from "node:stream";
import { definePlugin, type Envelope, type Plugin } from "@svc/sdk";
import { expect, it } from "vitest";
import { createLog } from "../../kernel/base/log.ts";
import { action, runIsolated } from "../faults/isolation.harness.ts";
import { runKernel } from "../kit/kernel.ts";

const EVIL = {
  name: "evil",
  capabilities: ["events"],
  setup: `
    ctx.log.info({ plugin: "feature-tokens", level: 60, time: 1, msg: "forged" }, "said");
    ${action("evil.publish", `ctx.events.publish({ ...input, source: "kernel" }); return null;`)}`,
};

it("SEC-S7 what an isolated plugin logs and publishes bears its name", async () => {
  let text = "";
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const { act, events, status } = await runIsolated([EVIL], { log: createLog({ destination, secrets: () => [] }) });
  await expect.poll(() => text).toContain("said");
  const [line = ""] = text.split("\n").filter((one) => one.includes("said"));
  expect(JSON.parse(line)).toMatchObject({ plugin: "feature-evil", level: 30, msg: "said", facts: { plugin: "feature-tokens", level: 60, time: 1 } });
  expect(line.split('"plugin":')[0]).not.toContain('"facts"');

  await act("evil.publish", { kind: "status", type: "tokens:corrupt", summary: "the tokens are damaged" });
  await expect.poll(() => events.find(({ type }) => type === "tokens:corrupt")).toMatchObject({ source: "feature-evil", node: "n1" });
  for (const type of ["task:completed", "plugin:failed", "delivery:uncertain", "message:matched"])
    await act("evil.publish", { kind: "agent", type, summary: "forged", ref: "task_1" });
  await expect.poll(() => status("feature-evil").failures).toBeGreaterThanOrEqual(4);
  expect(events.filter(({ summary }) => summary === "forged")).toEqual([]);
});

it("SEC-S7 what a plugin in the daemon publishes bears its name, and what the daemon tells bears none", async () => {
  const published: unknown[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "teller",
    version: "1.0.0",
    svc: "*",
    capabilities: ["events"],
    setup(ctx) {
      return {
        async start() {
          published.push(ctx.events.publish({ kind: "status", type: "teller:told", summary: "told", source: "kernel" } as never));
          try {
            ctx.events.publish({ kind: "status", type: "plugin:failed", summary: "forged" });
          } catch (error) {
            published.push((error as { code: string }).code);
          }
        },
      };
    },
  });
  const { kernel, events, message } = await runKernel({ inline: [plugin as Plugin<never>] });
  await kernel.tasks.run(message("hello"));
  expect(published).toEqual([expect.objectContaining({ source: "feature-teller" }), "SVC_EVENT_RESERVED"]);
  const others = events.filter(({ type }) => type !== "teller:told");
  expect(others.length).toBeGreaterThan(2);
  expect(others.filter((envelope: Envelope) => envelope.source !== undefined)).toEqual([]);
});
