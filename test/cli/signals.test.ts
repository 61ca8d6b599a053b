import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tortureCases, writeTorture } from "@svc/sdk/testing";
import { afterEach, expect, it, vi } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
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

/** Asks its own daemon to end in the very moment in which that is up. */
const ENDS_AT_ONCE = `
export default {
  kind: "feature", name: "ends-at-once", version: "1.0.0", svc: "^0.1.0", capabilities: ["events"],
  setup(ctx) {
    ctx.events.subscribe(({ data }) => { if (data?.state === "running") process.kill(process.pid, "SIGTERM"); }, "status");
  },
};`;

it("a SIGTERM in the moment in which the daemon is up ends it", async () => {
  const shell = await openShell();
  shells.push(shell);
  const folder = join(shell.folder, "ends-at-once");
  mkdirSync(folder);
  const svc = { api: 1, kind: "feature", name: "ends-at-once", entry: "./index.js", activate: "always", capabilities: ["events"] };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "ends-at-once", version: "1.0.0", type: "module", svc }));
  writeFileSync(join(folder, "index.js"), ENDS_AT_ONCE);
  shell.write(echoConfig({}, { plugins: ["./ends-at-once"] }));
  expect(await shell.svc("daemon", "start", "--foreground")).toMatchObject({ code: 0 });
});
