import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { withTask } from "./task-claim.ts";

const RUNNING: Record<string, string> = { a1: "a", a2: "a", b1: "b" };
const taskOf = async (id: string) => {
  const { [id]: agent } = RUNNING;
  return agent === undefined ? {} : { agent, taskId: id, rootId: "r" };
};

it.each([
  ["nothing is shown or claimed", undefined, undefined, {}, undefined],
  ["a claim of a program of this machine", undefined, "a1", {}, "a1"],
  ["a claim of a task that does not run", undefined, "a9", {}, undefined],
  ["a claim that is longer than any id", undefined, "a".repeat(201), {}, undefined],
  ["a claim from elsewhere", undefined, "a1", { local: false }, undefined],
  ["a claim with a token", undefined, "a1", { token: { id: "t", name: "t", scopes: [] } }, undefined],
  ["a program below a task that claims nothing", "a1", undefined, {}, "a1"],
  ["one with a token", "a1", undefined, { token: { id: "t", name: "t", scopes: [] } }, "a1"],
  ["one that claims another agent's task", "a1", "b1", {}, "a1"],
  ["one that claims nobody's task", "a1", "nobody", {}, "a1"],
  ["one of an engine that serves two tasks of its agent", "a1", "a2", {}, "a2"],
  ["one of an engine that is kept after its task", "a9", "a2", {}, "a2"],
  ["one that is kept and claims nothing", "a9", undefined, {}, undefined],
])("RUN-10 %s", async (_what, shown, claimed, caller, works) => {
  const raw = { method: "POST", headers: claimed === undefined ? {} : { "x-svc-task": claimed }, httpVersion: "1.1" } as unknown as IncomingMessage;
  const claims = { taskOf, taskBehind: () => (shown === undefined ? undefined : Promise.resolve(shown)) };
  const decided = await withTask({ address: "127.0.0.1", local: true, ...caller }, raw, claims);
  expect(decided.task?.taskId).toBe(works);
  if (works !== undefined) expect(raw.headers["x-svc-task"]).toBe(works);
});
