import { appendFileSync } from "node:fs";
import { workerData } from "node:worker_threads";
import { accuse, markedPlugin } from "@svc/kernel/quarantine";
import type { Watched } from "./watchdog.ts";

/** Looks that many times within the limit. Counting looks and not the clock, a process that was suspended as a whole is not taken for a hung one. */
const LOOKS = 5;
/** A loop that hangs without a plugin to blame, on a slow disk perhaps, gets this many times the limit. */
const PATIENCE = 6;

const { beat, blame, limitMs, dataFolder, log, respawn } = workerData as Watched;
const counter = new Int32Array(beat);
let last = -1;
let silent = 0;
let blamed: string | undefined;

setInterval(() => {
  const now = Atomics.load(counter, 0);
  silent = now === last ? silent + 1 : 0;
  last = now;
  if (silent === LOOKS) {
    blamed = undefined;
    // While it is brought up, the marker on disk names the plugin already.
    if (markedPlugin(dataFolder) !== undefined) end(markedPlugin(dataFolder));
    else ask();
  }
  if (silent > LOOKS && silent < LOOKS * PATIENCE && blamed !== undefined) end(blamed);
  if (silent === LOOKS * PATIENCE) end(undefined);
}, limitMs / LOOKS);

// Modules of the runtime are looked up where they are needed: the thread starts beside the daemon's own start, on the same processors.

/** Stop the main thread for a moment and ask it whose code it runs. */
function ask(): void {
  const { Session } = process.getBuiltinModule("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  session.on("Debugger.paused", ({ params }) => {
    const callFrameId = params.callFrames[0]?.callFrameId ?? "";
    session.post(
      "Debugger.evaluateOnCallFrame",
      { callFrameId, expression: `globalThis[Symbol.for(${JSON.stringify(blame)})]()`, returnByValue: true, silent: true },
      (error, answer) => {
        if (error === null && typeof answer.result.value === "string") blamed = answer.result.value;
        session.post("Debugger.resume");
        session.disconnect();
      },
    );
  });
  session.post("Debugger.enable");
  session.post("Debugger.pause");
}

function end(plugin: string | undefined): never {
  const msg = plugin === undefined ? "the loop hangs; the daemon ends" : `plugin ${plugin} holds the loop; the daemon ends and it is held back`;
  const line = `${JSON.stringify({ level: 50, time: Date.now(), name: "watchdog", msg, ...(plugin === undefined ? {} : { plugin }) })}\n`;
  try {
    if (plugin !== undefined) accuse(dataFolder, plugin);
    if (respawn === undefined) process.stderr.write(line);
    else appendFileSync(log, line);
  } catch {
    // On a full disk the daemon must end all the same.
  }
  if (respawn !== undefined) {
    const { spawn } = process.getBuiltinModule("node:child_process");
    spawn(process.execPath, respawn.args, {
      cwd: respawn.folder,
      detached: true,
      stdio: "ignore",
      env: { ...process.env, SVC_DETACHED: "1", SVC_REPLACES: String(process.pid) },
    }).unref();
  }
  process.kill(process.pid, "SIGKILL");
  throw new Error("unreachable: the process is gone");
}
