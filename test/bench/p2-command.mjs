import { join } from "node:path";
import { startDaemon } from "./daemon.mjs";
import { SVC, timeNode } from "./process.mjs";
import { median, ratioAtMost } from "./rounds.mjs";

const several = async (args, options) => {
  const times = [];
  for (let run = 0; run < 5; run += 1) times.push(await timeNode(args, options));
  return [median(times)];
};

export default {
  id: "P2",
  title: "a command that asks the daemon",
  against: "node -e 0",
  lines: [{ what: "svc agent list, the daemon is up", unit: "ms", target: ratioAtMost(1.5) }],
  async open({ folder }) {
    const daemon = await startDaemon(folder);
    const options = { cwd: folder, env: { ...process.env, SVC_CONFIG: join(folder, "svc.json") } };
    return { floor: () => several(["-e", "0"]), ours: () => several([SVC, "agent", "list"], options), close: daemon.stop };
  },
};
