import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Cli } from "../cli.ts";
import { launch } from "./detach.ts";

// A minute passes at once.
vi.mock("node:timers/promises", () => ({ setTimeout: async () => undefined }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-detach-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

it("a daemon that takes longer than a minute to come up is left to go on, and does not keep the command that started it", async () => {
  writeFileSync(join(folder, "svc.json"), "{}");
  const child = Object.assign(new EventEmitter(), { pid: 4_242, unref: vi.fn() });
  const builtin = process.getBuiltinModule;
  vi.spyOn(process, "getBuiltinModule").mockImplementation(((name: string) =>
    name === "node:child_process" ? { spawn: () => child } : builtin(name)) as typeof builtin);
  const dataFolder = join(folder, ".svc");
  const cli = { folder, dataFolder, file: join(folder, "svc.json"), logFile: join(dataFolder, "daemon.log"), note: () => undefined } as unknown as Cli;
  await expect(launch(cli, [])).rejects.toMatchObject({
    code: "SVC_CLI_START_FAILED",
    message: expect.stringContaining("It still starts (pid 4242); look with: svc daemon status"),
  });
  expect(child.unref).toHaveBeenCalledOnce();
});
