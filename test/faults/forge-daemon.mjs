// A daemon of the test's own in a process that can be killed: `node forge-daemon.mjs <svc.json> <port>`.
import { createKernel } from "@svc/kernel";
import { forgeHooks } from "../../plugins/features/forge-hooks/dist/index.js";

const [, , config, port] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;
const kernel = await createKernel({
  config,
  known: [folder("channels/forge-a"), folder("channels/forge-b"), folder("tiers/local")],
  // The far ends are asked as often as they can answer; their lists are late by at most that much.
  plugins: [forgeHooks({ port: Number(port), lagMs: 500, pauseMs: 0 })],
  listen: true,
  log: { level: process.env.FORGE_LOG ?? "warn", destination: "stderr" },
});
await kernel.start();
process.send?.("ready");
process.on("message", (word) => word === "look" && void fetchAll());
process.on("SIGTERM", () => void kernel.stop({ drainSeconds: 5 }).then(() => process.exit(0)));

async function fetchAll() {
  for (const name of ["forge_a", "forge_b"])
    await fetch(`http://127.0.0.1:${kernel.address.port}/forges/${name}/backfill`, { method: "POST" }).catch(() => undefined);
  process.send?.("looked");
}
