import { type Models, svcError } from "@svc/sdk";
import { actionContract, createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;

function setUp(extract: Models["extract"]) {
  const ctx = createFakeContext(plugin, { models: { extract } });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  return action;
}

actionContract({ describe, it }, () => ({
  action: setUp(async () => ({ city: "Ulm" })),
  works: [{ name: "a city", input: { prompt: "I live in Ulm", schema: { ...schema } }, check: (output) => expect(output).toEqual({ city: "Ulm" }) }],
  refused: [
    { prompt: "", schema },
    { prompt: "x", schema: true },
    { prompt: "x", schema: { type: "string" } },
    { prompt: "x", schema: {} },
  ],
}));

it("ACT-12 hands prompt, schema and signal to the model and its refusals on", async () => {
  const asked: unknown[] = [];
  const { signal } = new AbortController();
  await setUp(async (request) => asked.push(request)).run({ prompt: "p", schema }, { signal, door: "test" });
  expect(asked).toEqual([{ prompt: "p", schema, signal }]);
  const withoutKey = setUp(async () => {
    throw svcError("SVC_MODEL_NO_KEY", "no key");
  });
  await expect(withoutKey.run({ prompt: "p", schema }, { signal, door: "test" })).rejects.toMatchObject({ code: "SVC_MODEL_NO_KEY" });
});
