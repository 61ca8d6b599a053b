/* The program of a rehearsal's process: reads tasks as lines of JSON and answers on a descriptor of its own. */

import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import { reasonOf } from "@svc/sdk";
import { currentScope } from "./core/host/call.ts";
import { PARTS } from "./create-kernel.ts";
import { type Batch, openRehearsal, type Rehearsal, type RehearsalOptions } from "./rehearsal/rehearsal.ts";
import type { Said } from "./rehearsal/rehearsal-process.ts";

const ANSWERS = 3;

/** Written synchronously, so that it is out before code of a plugin ends the process or blocks it. */
function say(said: Said, scrub = (text: string) => text): void {
  const bytes = Buffer.from(`${scrub(JSON.stringify(said))}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(ANSWERS, bytes, at);
    } catch (error) {
      if ((error as { code?: string }).code !== "EAGAIN") throw error;
    }
  }
}

// A plugin may block for ever, and the parent may have ended: this process must end with its parent.
const watch = `const parent = process.ppid; setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, "SIGKILL"); }, 1000);`;
new Worker(watch, { eval: true }).unref();

let rehearsal: Rehearsal | undefined;
let over = false;
process.on("exit", (code) => {
  const plugin = currentScope()?.id;
  if (!over) say({ leaving: { ...(plugin === undefined ? {} : { plugin }), code } });
});
for (const event of ["uncaughtException", "unhandledRejection"])
  process.on(event, (error) => {
    if (rehearsal === undefined) {
      say({ fatal: { message: reasonOf(error) } });
      over = true;
      process.exit(1);
    }
    rehearsal.stray(error);
  });

for await (const line of createInterface({ input: process.stdin })) {
  if (rehearsal === undefined) {
    try {
      rehearsal = await openRehearsal(PARTS, JSON.parse(line) as RehearsalOptions);
      say({ ready: { plugins: rehearsal.plugins, findings: rehearsal.findings } }, rehearsal.scrub);
    } catch (error) {
      const { code } = error as { code?: string };
      say({ fatal: { ...(code === undefined ? {} : { code }), message: reasonOf(error) } });
      break;
    }
    continue;
  }
  const task = await rehearsal.task(JSON.parse(line) as Batch, (step) => say({ step }));
  say({ task }, rehearsal.scrub);
}
over = true;
await rehearsal?.close().catch(() => undefined);
process.exit(0);
