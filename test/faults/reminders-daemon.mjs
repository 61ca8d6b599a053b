// A daemon that reads reminders as on the system that has them: `node reminders-daemon.mjs <svc.json>`. Tells its port when it listens.
import { createKernel } from "@svc/kernel";
import { reminders } from "../../plugins/features/reminders/dist/plugin.js";

const [, , config] = process.argv;
const folder = (name) => new URL(`../../plugins/${name}`, import.meta.url).pathname;

const kernel = await createKernel({
  config,
  known: [folder("tiers/local"), folder("stores/sqlite"), folder("stores/postgres")],
  plugins: [reminders({ platform: "darwin" })],
  log: { level: "warn", destination: "stderr" },
  listen: true,
});
await kernel.start();
process.send?.({ port: kernel.address.port });
