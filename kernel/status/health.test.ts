import { expect, it } from "vitest";
import { healthOf } from "./health.ts";

it("plugins that run say by a service what is not well with them; one that cannot say it does not end the answer", () => {
  const service = (id: string, name: string, problems: () => readonly string[]) => [name, { scope: { id }, thing: { name, api: { problems } } }] as const;
  const services = new Map([
    service("feature-a", "a.health", () => ["is behind", "x".repeat(9_000)]),
    service("feature-b", "b.health", () => {
      throw new Error("torn");
    }),
    service("feature-c", "c.other", () => ["is not asked"]),
  ]);
  const facts = { ok: true, state: "running", node: { id: "n", name: "n" }, version: "1", startedAt: 0, now: 1_000, plugins: [], unusable: new Map() };
  const { problems } = healthOf({ ...facts, live: { services }, tasks: undefined, storage: undefined, fatal: undefined } as never);
  expect(problems).toEqual(["feature-a: is behind", `feature-a: ${"x".repeat(500)}`, "feature-b: does not say how it is: torn"]);
});
