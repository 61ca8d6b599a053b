/**
 * A workspace full of code. A line `floor <ms>` is answered with the largest and the middle delay of the loop of a kernel at rest for so long,
 * `ours` with those while the plugin indexes all of it, and how long that took.
 */
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import codeindex from "@svc/feature-codeindex";
import { createKernel } from "@svc/kernel";
import local from "@svc/tier-local";

const [folder, files] = process.argv.slice(2);
const FOLDERS = 500;
const RESOLUTION_MS = 5;

const workspace = join(folder, "workspace");
for (let at = 0; at < Number(files); at += 1) {
  const below = join(workspace, `d${at % FOLDERS}`);
  if (at < FOLDERS) mkdirSync(below, { recursive: true });
  const code = [0, 1, 2].map(
    (part) =>
      `export class C${at}P${part} {\n  run${at}(a: number): number {\n    return a + ${part};\n  }\n}\nexport const v${at}p${part} = new C${at}P${part}().run${at}(1);\n`,
  );
  writeFileSync(join(below, `f${at}.ts`), code.join("\n"));
}
const kernel = await createKernel({
  config: { node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" }, agents: { a: { name: "A", workspace, tier: "local", codeindex: true } } },
  plugins: [local, codeindex],
  folder,
  dataFolder: join(folder, ".svc"),
  listen: true,
});
await kernel.start();
process.on("SIGTERM", async () => {
  await kernel.stop();
  process.exit(0);
});

async function index() {
  const answer = await fetch(`http://127.0.0.1:${kernel.address.port}/api/agents/a/code-index`, { method: "POST", signal: AbortSignal.timeout(900_000) });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}
// The background looks at the workspace for the first time soon after a start: that run is not measured.
await index();

async function watched(work) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const began = performance.now();
  await work();
  delay.disable();
  const ms = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  return { max: ms(delay.max), p99: ms(delay.percentile(99)), seconds: (performance.now() - began) / 1_000 };
}

/** Every file looks as if it had changed. */
let touched = 0;
function touch() {
  touched += 1;
  const at = new Date(Date.now() - 1_000_000 + touched * 1_000);
  for (let file = 0; file < Number(files); file += 1) utimesSync(join(workspace, `d${file % FOLDERS}`, `f${file}.ts`), at, at);
}

console.log(JSON.stringify({ files: Number(files) }));
for await (const line of createInterface({ input: process.stdin })) {
  const [side, ms] = line.split(" ");
  if (side === "ours") touch();
  const found = await watched(() => (side === "floor" ? setTimeout(Number(ms)) : index()));
  console.log(JSON.stringify(found));
}
