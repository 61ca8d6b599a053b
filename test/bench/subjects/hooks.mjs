/** Two kernels in one process, one with twenty taps and one with none. A line `<taps> <turns>` is answered with the CPU of a turn. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createKernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import local from "@svc/tier-local";

const TAPS = { inbound: 3, route: 2, assembleContext: 5, dispatch: 3, deliver: 3, emit: 4 };
const AT_ONCE = 16;

const answers = { assembleContext: (context) => context, deliver: (delivery) => delivery };
const tapped = definePlugin({
  kind: "feature",
  name: "taps",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: [],
  setup(ctx) {
    for (const [hook, count] of Object.entries(TAPS)) {
      const answer = answers[hook] ?? (() => undefined);
      for (let at = 0; at < count; at += 1) ctx.hooks[hook].tap(at % 2 === 1 && hook !== "emit" ? async (given) => answer(given) : answer);
    }
  },
});

const kernels = {};
for (const [taps, plugins] of [
  ["0", [local]],
  ["20", [local, tapped]],
]) {
  const folder = join(process.argv[2], `hooks-${taps}`);
  const agents = { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 64, local: { mode: "echo", chunks: 3 } } };
  const kernel = await createKernel({ config: { node: { id: "bench", name: "Bench" }, agents }, plugins, folder, dataFolder: join(folder, ".svc") });
  await kernel.start();
  kernels[taps] = kernel;
}

async function turns(kernel, count) {
  let left = count;
  const caller = async (chat) => {
    while (left-- > 0) await kernel.tasks.run({ entry: "task", channel: "http", chat, text: "a short message in a few words", agent: "echo" });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => caller(String(at))));
}

process.on("SIGTERM", async () => {
  await Promise.all(Object.values(kernels).map((kernel) => kernel.stop()));
  process.exit(0);
});
console.log("{}");
for await (const line of createInterface({ input: process.stdin })) {
  const [taps, count] = line.split(" ");
  const before = process.cpuUsage();
  await turns(kernels[taps], Number(count));
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ microseconds: (user + system) / Number(count) }));
}
