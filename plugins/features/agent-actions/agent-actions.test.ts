import { expect, it } from "vitest";
import { patternsOf } from "./allowed.ts";

it("an agent may ask others and look into its index, unless strangers talk with it or it plans", () => {
  const usual = ["agent.call", "mesh.delegate", "rag.lexical"];
  expect(patternsOf({ settings: {} })).toEqual(usual);
  expect(patternsOf({ settings: { actions: ["http.*"] } })).toEqual(["http.*"]);
  expect(patternsOf({ settings: { access: "public" } })).toEqual([]);
  expect(patternsOf({ settings: { access: "public", actions: ["rag.lexical"] } })).toEqual(["rag.lexical"]);
  expect(patternsOf({ settings: { permissionMode: "plan", actions: ["*"] } })).toEqual([]);
});
