/**
 * A kernel on a port with twenty taps. A line `sync` or `mixed` sets them, a line `watch` looks on until the next one, a line `share`
 * is answered with the time on the CPU that the main thread spent in hooks meanwhile, in milliseconds and as a percentage of all. Argument: folder.
 */
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createKernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import local from "@svc/tier-local";

/** The hooks and the calls that they make; a tier is run `inScope` of its plugin too, and is no hook. */
const isHook = ({ url, functionName }) =>
  url.endsWith("/kernel/dist/core/host/hooks.js") || (url.endsWith("/kernel/dist/core/host/call.js") && functionName !== "inScope");
const TAPS = { inbound: 3, route: 2, assembleContext: 5, dispatch: 3, deliver: 3, emit: 4 };

const [folder] = process.argv.slice(2);
const answers = { assembleContext: (context) => context, deliver: (delivery) => delivery };
const tapped = definePlugin({
  kind: "feature",
  name: "taps",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  config: { at: "taps", schema: { type: "object", properties: { kind: { type: "string" } }, additionalProperties: false } },
  setup(ctx) {
    const mixed = ctx.config.kind === "mixed";
    for (const [hook, count] of Object.entries(TAPS)) {
      const answer = answers[hook] ?? (() => undefined);
      for (let at = 0; at < count; at += 1) ctx.hooks[hook].tap(mixed && at % 2 === 1 && hook !== "emit" ? async (given) => answer(given) : answer);
    }
  },
});

const config = {
  node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" },
  agents: { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 64, local: { mode: "echo", chunks: 3 } } },
};
const kernel = await createKernel({ config, plugins: [local, tapped], folder, dataFolder: join(folder, ".svc"), listen: true });
await kernel.start();
process.on("SIGTERM", async () => {
  await kernel.stop();
  process.exit(0);
});

async function setTaps(kind) {
  config.taps = { kind };
  const { failed } = await kernel.reload();
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
  return kind;
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: 100 });

/** Of the time in which the thread was at work, that with a function of the hooks' room on the stack. */
function shareOf({ nodes, samples, timeDeltas }) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const inside = new Set();
  const enter = (node, within) => {
    const now = within || isHook(node.callFrame);
    if (now) inside.add(node.id);
    for (const child of node.children ?? []) enter(known.get(child), now);
  };
  enter(nodes[0], false);
  let [busy, hooks] = [0, 0];
  for (const [at, id] of samples.entries()) {
    if (known.get(id).callFrame.functionName === "(idle)") continue;
    busy += timeDeltas[at];
    if (inside.has(id)) hooks += timeDeltas[at];
  }
  return { share: (100 * hooks) / busy, ms: hooks / 1000 };
}

const ANSWERS = {
  watch: () => session.post("Profiler.start"),
  share: async () => shareOf((await session.post("Profiler.stop")).profile),
};
console.log(JSON.stringify({ port: kernel.address.port }));
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify({ value: await (ANSWERS[line]?.() ?? setTaps(line)) }));
