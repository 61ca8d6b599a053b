// A daemon of the test's own in a process that can be killed: `node teamchat-daemon.mjs <svc.json>`.
import { createKernel } from "@svc/kernel";

const [, , config] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;
const kernel = await createKernel({ config, known: [folder("channels/teamchat"), folder("tiers/local")], log: { level: "warn", destination: "stderr" } });
await kernel.start();
process.send?.("ready");
process.on("SIGTERM", () => void kernel.stop({ drainSeconds: 5 }).then(() => process.exit(0)));
