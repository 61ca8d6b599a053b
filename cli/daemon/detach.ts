import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Start the daemon in a session of its own and wait for its verdict: up, or why not. */
export async function startDetached(cli: Cli, flags: readonly string[]): Promise<void> {
  if (!existsSync(cli.file)) throw fail("SVC_CLI_NO_CONFIG", { file: cli.file });
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const errors = openSync(`${cli.logFile}.start`, "w", 0o600);
  const program = fileURLToPath(new URL("../../bin/svc.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, "daemon", "start", "--foreground", "--config", cli.file, ...flags], {
    cwd: cli.folder,
    detached: true,
    stdio: ["ignore", errors, errors],
    env: { ...process.env, SVC_DETACHED: "1" },
  });
  closeSync(errors);
  let ended: number | null | undefined;
  child.once("exit", (code) => {
    ended = code;
  });
  for (let waited = 0; waited < 60_000; waited += 50) {
    const note = cli.note();
    if (note?.pid === child.pid) {
      child.unref();
      cli.print(`The daemon is up on http://${note?.host}:${note?.port} (pid ${note?.pid}).`, note);
      return;
    }
    if (ended !== undefined) {
      const said = readFileSync(`${cli.logFile}.start`, "utf8")
        .trim()
        .replace(/^svc: /, "");
      process.exitCode = ended ?? EXIT.failed;
      cli.say(`svc: ${said === "" ? `the daemon ended with code ${ended}; its log is ${cli.logFile}` : said}`);
      return;
    }
    await pause(50);
  }
  throw fail("SVC_CLI_START_FAILED", { reason: "it did not answer within 60 s", log: cli.logFile });
}

/** Ask the daemon to stop and wait until it has. */
export async function stopDaemon(cli: Cli, seconds: number | undefined): Promise<void> {
  const { lockHolder } = await import("@svc/kernel");
  const holder = lockHolder(cli.dataFolder);
  if (holder === undefined) {
    const { host, port } = cli.address();
    throw fail("SVC_CLI_NO_DAEMON", { address: `${host}:${port}` });
  }
  const { pid } = holder;
  process.kill(pid, "SIGTERM");
  if (cli.terminal) cli.say("Waiting for running work to finish ...");
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : Date.now() + seconds * 1000;
  while (lockHolder(cli.dataFolder)?.pid === pid) {
    if (Date.now() > until) throw fail("SVC_CLI_STOP_FAILED", { pid, seconds });
    await pause(50);
  }
  cli.print("The daemon has stopped.", { stopped: true, pid });
}
