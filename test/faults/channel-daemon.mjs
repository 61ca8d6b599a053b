// A daemon of the test's own in a process that can be killed: `node channel-daemon.mjs <svc.json> [channel]`.
import { createKernel } from "@svc/kernel";

const [, , config, channel = "botmsg"] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;
const kernel = await createKernel({ config, known: [folder(`channels/${channel}`), folder("tiers/local")], log: { level: "warn", destination: "stderr" } });
await kernel.start();
process.send?.("ready");
process.on("SIGTERM", () => void kernel.stop({ drainSeconds: 5 }).then(() => process.exit(0)));
