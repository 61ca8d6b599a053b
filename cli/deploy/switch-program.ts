import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tryLock } from "@svc/kernel/folder";
import type { Order, Outcome, Step } from "./order.ts";
import { remember, switchTo } from "./switch-release.ts";

// Runs on the remote machine, from the new release, in a session of its own: it completes even if the connection breaks.
const order = JSON.parse(readFileSync(process.argv[2] as string, "utf8")) as Order;
const tell = (line: Step | Outcome): void => {
  try {
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } catch {
    // The log cannot take it: the switch matters more.
  }
};
process.on("SIGHUP", () => {});
mkdirSync(join(order.folder, "releases"), { recursive: true });
const lock = tryLock(join(order.folder, "releases/deploy.lock"));
if ("holder" in lock) {
  const since = new Date(lock.holder.startedAt).toISOString();
  tell({ outcome: "refused", kind: "busy", reason: `another deployment works there since ${since} (pid ${lock.holder.pid})` });
} else {
  try {
    const outcome = await switchTo(order, tell);
    remember(order.folder, outcome, order.config);
    tell(outcome);
  } catch (error) {
    tell({ outcome: "refused", kind: "failed", reason: (error as Error).message });
  } finally {
    lock.release();
  }
}
