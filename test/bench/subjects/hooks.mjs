/** A kernel with twenty taps or none, on a port. A line `cpu` is answered with the CPU it has used. Arguments: folder, `none`, `sync` or `mixed`. */
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createKernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import local from "@svc/tier-local";

const TAPS = { inbound: 3, route: 2, assembleContext: 5, dispatch: 3, deliver: 3, emit: 4 };

const [parent, kind] = process.argv.slice(2);
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
      for (let at = 0; at < count; at += 1) ctx.hooks[hook].tap(kind === "mixed" && at % 2 === 1 && hook !== "emit" ? async (given) => answer(given) : answer);
    }
  },
});

const folder = join(parent, kind);
const kernel = await createKernel({
  config: {
    node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" },
    agents: { echo: { name: "Echo", workspace: "./w", tier: "local", maxConcurrent: 64, local: { mode: "echo", chunks: 3 } } },
  },
  plugins: kind === "none" ? [local] : [local, tapped],
  folder,
  dataFolder: join(folder, ".svc"),
  listen: true,
});
await kernel.start();
process.on("SIGTERM", async () => {
  await kernel.stop();
  process.exit(0);
});
console.log(JSON.stringify({ port: kernel.address.port }));
for await (const _line of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ microseconds: user + system }));
}
