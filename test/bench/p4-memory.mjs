import { join } from "node:path";
import { startDaemon } from "./daemon.mjs";
import { getJson, residentKb, startNode } from "./process.mjs";
import { ratioAtMost } from "./rounds.mjs";

const SETTLE_MS = 2_000;
const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

export default {
  id: "P4",
  title: "memory of an idle daemon",
  against: "a bare fastify server that has answered once",
  lines: [{ what: "resident memory, idle", unit: "MB", target: ratioAtMost(1.5) }],
  async open({ folder }) {
    let count = 0;
    return {
      rounds: 3,
      async floor() {
        const bare = await startNode([join(import.meta.dirname, "floors/frames.mjs")]);
        await getJson(bare.facts.port, "/health");
        await settled();
        const kb = residentKb(bare.pid);
        await bare.stop();
        return [kb / 1024];
      },
      async ours() {
        count += 1;
        const daemon = await startDaemon(join(folder, String(count)));
        await settled();
        const kb = residentKb(daemon.pid);
        await daemon.stop();
        return [kb / 1024];
      },
    };
  },
};
