// A daemon with the channel phonemsg in a process that can be killed: `node phonemsg-daemon.mjs <svc.json>`.
import { createKernel } from "@svc/kernel";

const [, , config] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;
const kernel = await createKernel({
  config,
  listen: true,
  known: [folder("channels/phonemsg"), folder("tiers/local")],
  log: { level: "warn", destination: "stderr" },
});
await kernel.start();
process.send?.({ ready: true, port: kernel.address?.port });
process.on("SIGTERM", () => void kernel.stop({ drainSeconds: 5 }).then(() => process.exit(0)));
