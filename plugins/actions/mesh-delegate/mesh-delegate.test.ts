import { checkSchema, createFakeContext } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import plugin from "./index.ts";

const ctx = createFakeContext(plugin);
plugin.setup(ctx);

it("takes peer, agent, message and freshSession, and nothing else", () => {
  const input = ctx.registered.actions[0]!.input;
  const fits = { peer: "attic", agent: "main", message: "hi" };
  expect(checkSchema(input, { ...fits, freshSession: false })).toBeUndefined();
  expect(checkSchema(input, { ...fits, agentId: "main" })).toContain("agentId");
  expect(checkSchema(input, { agent: "main", message: "hi" })).toContain("peer is missing");
});

it("fails clearly while this daemon runs no mesh", async () => {
  const run = ctx.registered.actions[0]!.run({ peer: "attic", agent: "main", message: "hi" }, { signal: new AbortController().signal, door: "test" });
  await expect(run).rejects.toMatchObject({ code: "SVC_MESH_DISABLED", message: expect.stringContaining("attic") });
});
