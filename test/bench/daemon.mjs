import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answered, freePort, SVC } from "./process.mjs";

/** A configuration with one agent that says things back in `chunks` pieces. */
export const echoConfig = (port, { chunks = 3, plugins = [], ...rest } = {}) => ({
  node: { id: "bench", name: "Bench", bind: `127.0.0.1:${port}`, defaultAgent: "echo" },
  agents: { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 64, local: { mode: "echo", chunks } } },
  ...(plugins.length === 0 ? {} : { plugins }),
  ...rest,
});

/** Starts the real daemon in a folder of its own and waits until it answers. `node` are options of the runtime. */
export async function startDaemon(folder, makeConfig = echoConfig, node = [], variables = process.env) {
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "svc.json"), JSON.stringify(makeConfig(port)));
  const began = performance.now();
  const child = spawn(process.execPath, [...node, SVC, "daemon", "start", "--foreground"], {
    cwd: folder,
    // The channel is the probe's: setting it up would be counted as the daemon's start and memory.
    stdio: ["ignore", "ignore", "pipe", ...(node.length > 0 ? ["ipc"] : [])],
    env: { ...variables, SVC_CONFIG: "", SVC_LOG_LEVEL: "warn" },
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const ended = once(child, "close");
  const health = await Promise.race([answered(port, "/health"), ended.then(([code]) => Promise.reject(new Error(`the daemon ended with ${code}: ${errors}`)))]);
  const startedMs = performance.now() - began;
  return {
    port,
    pid: child.pid,
    health,
    /** Milliseconds from the start of its process to its first good answer. */
    startedMs,
    /** Asks the probe that was loaded into it, and answers with what it says. */
    async probe(question) {
      const answer = once(child, "message");
      child.send(question);
      return (await answer)[0];
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
