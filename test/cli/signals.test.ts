import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tortureCases, writeTorture } from "@svc/sdk/testing";
import { afterEach, expect, it, vi } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.svc("daemon", "stop");
});

it("a SIGHUP while the daemon comes up does not end it", async () => {
  const shell = await openShell();
  shells.push(shell);
  const slow = tortureCases.find(({ name }) => name === "start-never-ends")!;
  writeTorture(join(shell.folder, slow.name), slow);
  shell.write(echoConfig({}, { plugins: [`./${slow.name}`] }));
  const marker = join(shell.folder, ".svc/loading.json");
  const starting = shell.svc("daemon", "start");
  await vi.waitFor(() => expect(existsSync(marker) && readFileSync(marker, "utf8")).toContain('"start"'), { timeout: 15_000, interval: 5 });
  process.kill(JSON.parse(readFileSync(marker, "utf8")).pid, "SIGHUP");
  expect(await starting).toMatchObject({ code: 0 });
  expect(await shell.json("daemon", "status")).toMatchObject({ ok: true });
});
