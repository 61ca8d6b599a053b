import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { openCallers } from "./caller.mjs";
import { startDaemon } from "./daemon.mjs";
import { startNode } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const PROBE = pathToFileURL(join(import.meta.dirname, "subjects/probe.mjs")).href;
const A_SECOND = 500;

export default {
  id: "P10",
  title: "the loop under 500 tasks a second",
  against: "the frames server under the same load, which shows what the machine itself holds up",
  lines: [
    { what: `loop blocks over 5 ms, ${A_SECOND} tasks a second`, unit: "in 1000", target: atMost(1, "in 1000 ms") },
    { what: "longest block of the same", unit: "ms", target: atMost(50, "ms") },
  ],
  async open({ folder, quick }) {
    const ms = quick ? 10_000 : 60_000;
    const run = async (port, probe) => {
      const callers = await openCallers(port, 64);
      await callers.pace(A_SECOND, 2_000);
      await probe("reset");
      const sent = await callers.pace(A_SECOND, ms);
      const { over, turns, longest } = await probe("tell");
      callers.close();
      if (sent < (A_SECOND * ms) / 1000 - A_SECOND) throw new Error(`only ${sent} of ${(A_SECOND * ms) / 1000} tasks could be sent`);
      return [(1000 * over) / turns, longest];
    };
    return {
      rounds: 1,
      async floor() {
        const bare = await startNode(["--import", PROBE, join(import.meta.dirname, "floors/frames.mjs")], { stdio: ["pipe", "pipe", "inherit", "ipc"] });
        const found = await run(bare.facts.port, bare.probe);
        await bare.stop();
        return found;
      },
      async ours() {
        const daemon = await startDaemon(folder, undefined, ["--import", PROBE]);
        const found = await run(daemon.port, daemon.probe);
        await daemon.stop();
        return found;
      },
      note: () => `${ms / 1000} s; a turn of the loop is looked at every millisecond`,
    };
  },
};
