import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { echoConfig, openShell } from "../kit/svc.ts";

it("what a killed svc plugin add has fetched goes with the next one", async () => {
  // An npm that never ends, and then one that fails.
  const bin = await temporaryFolder();
  const npm = (body: string) => writeFileSync(join(bin, "npm"), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const env = { PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter) };
  const shell = await openShell(env);
  shell.write(echoConfig());
  const data = join(shell.folder, ".svc");
  const staged = () => (existsSync(data) ? readdirSync(data).filter((name) => name.startsWith("staging-")) : []);

  npm("exec sleep 60");
  const child = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "plugin", "add", "svc-plugin-nope", "--yes"], {
    cwd: shell.folder,
    env: { ...process.env, SVC_CONFIG: "", ...env },
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "exit");
  await expect.poll(staged).toHaveLength(1);
  // As Ctrl-C in a terminal, to npm too.
  process.kill(-(child.pid as number), "SIGINT");
  await ended;
  expect(staged()).toHaveLength(1);

  npm("exit 1");
  expect(await shell.svc("plugin", "add", "svc-plugin-nope", "--yes")).toMatchObject({ code: 1 });
  expect(staged()).toEqual([]);
});
