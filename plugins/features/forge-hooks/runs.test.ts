import type { Accepted } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { openRows, type Run } from "./rows.ts";
import { Runs } from "./runs.ts";

const run = {
  id: "run1",
  forge: "forge_x",
  agent: "my-agent",
  place: { project: { id: "7", path: "team/app", private: false }, kind: "issue", id: "3" },
  note: { kind: "comment", id: "9", url: "https://forge/9", author: { id: "1", login: "ann" }, text: "@my-agent hi" },
  asker: { id: "1", login: "ann" },
  right: "write",
  comments: true,
  media: [],
  state: "accepting",
  steps: [],
  stepCount: 0,
  live: 1,
  at: 1,
  object: "o",
  thread: "t",
} as unknown as Run;

it("an engine that calls a tool as its task begins is in its run, before the row names the task", async () => {
  const rows = openRows(createMemoryStore());
  await rows.runs.put(run.id, run);
  const calls: Promise<Run | undefined>[] = [];
  const accept = async (): Promise<Accepted> => {
    calls.push(runs.ofTask("task1"), runs.ofTask("another"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    return { taskId: "task1" } as Accepted;
  };
  const runs = new Runs({ rows, ctx: { tasks: { accept } } } as unknown as ConstructorParameters<typeof Runs>[0]);
  await runs.accept(run);
  expect((await Promise.all(calls)).map((found) => found?.id)).toEqual(["run1", undefined]);
});
