import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { smallDisk } from "../../kernel/base/processes.harness.ts";
import { sharedLines } from "../kit/lines.ts";
import { openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function empty(): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  return shell;
}

it("OPR-m19 an engine that nothing brings is wrong usage, and nothing is written", async () => {
  const shell = await empty();
  expect(await lines(shell).svc("init", "--tier", "nope")).toMatchObject({
    code: 2,
    err: expect.stringMatching(/There is no tier 'nope'; there are .*\bcli-a\b/),
  });
  expect(existsSync(join(shell.folder, "svc.json"))).toBe(false);
  expect(existsSync(join(shell.folder, "workspace"))).toBe(false);
});

it("FAULT-09 on a full disk nothing is left half written, and the next try is a first one", async (ctx) => {
  const shell = await empty();
  const disk = smallDisk(shell.folder, "1m");
  if (disk === undefined) return ctx.skip("this user may not mount a tmpfs");
  try {
    const fill = join(shell.folder, "fill");
    // With 4 KB more each time: none, for a folder, for a file of the workspace, for a part of the schema.
    for (const left of [0, 4, 8, 12]) {
      expect(() => writeFileSync(fill, Buffer.alloc(2_000_000))).toThrow("ENOSPC");
      truncateSync(fill, statSync(fill).size - left * 1_024);
      expect(await shell.svc("init", "--tier", "local")).toMatchObject({ code: 74, err: expect.stringContaining("is full; free some room") });
      expect(existsSync(join(shell.folder, "svc.json"))).toBe(false);
      rmSync(fill);
    }
    expect(await shell.svc("init", "--tier", "local")).toMatchObject({ code: 0 });
    expect(readFileSync(join(shell.folder, "workspace/AGENTS.md"), "utf8")).toContain("You are a helpful assistant.");
    expect(await shell.svc("config", "check")).toMatchObject({ code: 0 });
  } finally {
    disk.remove();
  }
});

it("the first svc.json names a schema that editors find, and is valid", async () => {
  const shell = await empty();
  expect(await shell.svc("init", "--tier", "local")).toMatchObject({ code: 0 });
  expect(shell.config()).toMatchObject({ $schema: "./.svc/svc.schema.json" });
  const schema = JSON.parse(readFileSync(join(shell.folder, ".svc/svc.schema.json"), "utf8"));
  expect(schema).toEqual(await lines(shell).json("config", "schema"));
  expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(["agents", "channels", "providers"]));
  expect(await lines(shell).svc("config", "check")).toMatchObject({ code: 0 });
});

it("an agent's folder that is made anew is said, by the command and in the log", async () => {
  const shell = await empty();
  await lines(shell).svc("init", "--tier", "local");
  await lines(shell).svc("config", "set", "node.bind", "127.0.0.1:0");
  const folder = join(shell.folder, "workspaces/new");
  expect((await shell.svc("agent", "add", "new")).out).toContain(`Its workspace ${folder} was made.`);
  await lines(shell).svc("config", "set", "agents.new.workspace", "./slip/of/a/pen");
  await shell.svc("daemon", "start");
  const { out } = await lines(shell).svc("daemon", "logs");
  expect(out).toContain(`made the workspace ${join(shell.folder, "slip/of/a/pen")}, which was not there`);
  expect(out).not.toContain(`made the workspace ${folder}`);
  expect(await lines(shell).svc("trace", "list")).toMatchObject({ code: 0, out: "No tasks yet.\n" });
  expect(await lines(shell).svc("trace", "list", "--agent", "nope")).toMatchObject({ code: 1, err: expect.stringContaining("There is no agent nope") });
  expect(await lines(shell).svc("trace", "list", "--agent", "new")).toMatchObject({ code: 0, out: "No such tasks.\n" });
});
