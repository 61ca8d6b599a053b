import { join } from "node:path";
import { openCallers } from "./caller.mjs";
import { startDaemon } from "./daemon.mjs";
import { residentKb } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const TURNS = 5_000;
const CALLERS = 16;

export default {
  id: "P4b",
  title: `memory after ${TURNS} turns`,
  against: "the bound",
  lines: [{ what: `resident memory after ${TURNS} turns of ${CALLERS} callers, echo`, unit: "MB", target: atMost(130, "MB") }],
  async open({ folder }) {
    let count = 0;
    return {
      rounds: 3,
      async ours() {
        count += 1;
        const daemon = await startDaemon(join(folder, String(count)));
        const callers = await openCallers(daemon.port, CALLERS);
        await callers.times(TURNS);
        callers.close();
        const kb = residentKb(daemon.pid);
        await daemon.stop();
        return [kb / 1024];
      },
    };
  },
};
