import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, Log } from "@svc/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createWorkspaces } from "./workspaces.ts";

const log: Log = { debug() {}, info() {}, warn() {}, error() {} };
const agent = (id: string, workspace: string) => ({ id, workspace }) as Agent;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-workspaces-"));
});
afterEach(() => rm(folder, { recursive: true }));

it("OPR-M10 makes what can be made, and says of each other agent why it has no folder", async () => {
  let changes = 0;
  const workspaces = createWorkspaces(log, () => (changes += 1));
  await writeFile(join(folder, "file"), "");
  await workspaces.make([
    agent("a", join(folder, "x/y/z")),
    agent("b", "/proc/nope/ws"),
    agent("c", join(folder, "file/under")),
    agent("d", join(folder, "file")),
  ]);
  expect((await stat(join(folder, "x/y/z"))).isDirectory()).toBe(true);
  expect([...workspaces.problems.keys()]).toEqual(["b", "c", "d"]);
  expect(workspaces.problems.get("b")).toMatch(/\/proc\/nope.* cannot be made \(.*\); set agents\.b\.workspace to a folder that can/);
  expect(changes).toBe(3);
  await rm(join(folder, "file"));
  await workspaces.again();
  expect([...workspaces.problems.keys()]).toEqual(["b"]);
  expect(changes).toBe(5);
  await workspaces.make([agent("a", join(folder, "x/y/z"))]);
  expect(workspaces.problems.size).toBe(0);
});

it("OPR-M10 a file system that does not answer holds one thread and nothing else up", async () => {
  const asked: string[] = [];
  let answer = (_made: boolean) => {};
  const workspaces = createWorkspaces(
    log,
    () => {},
    (path) => {
      asked.push(path);
      return path === "/net/a" ? new Promise<boolean>((resolve) => (answer = resolve)) : Promise.resolve(false);
    },
  );
  await workspaces.make([agent("a", "/net/a"), agent("b", "/net/b")]);
  expect(asked).toEqual(["/net/a"]);
  answer(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual(["/net/a", "/net/b"]);
  expect(workspaces.problems.size).toBe(0);
});
