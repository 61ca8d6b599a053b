import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { cpuMs, residentKb, startNode } from "./process.mjs";
import { atMost } from "./rounds.mjs";

const CALLERS = join(import.meta.dirname, "subjects/callers.mjs");
/** The thread of calls goes five seconds after the last one. */
const GONE_MS = 7_000;
/** Of the system's clock for processes. */
const MANY = 10;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export default {
  id: "P29",
  title: "calls that are written down",
  against: "the bound; the recogniser is a server of its own, and not counted",
  skip: () => (process.platform === "linux" ? undefined : "memory and processor time are read from /proc"),
  lines: [
    { what: "processor of the daemon in one call, of a core", unit: "%", target: atMost(15, "%") },
    { what: "memory of the daemon in one call, more than before it", unit: "MB", target: atMost(60, "MB") },
    { what: "sound of ten calls at once that the daemon did not hear", unit: "ms", target: atMost(0, "ms") },
    { what: "processor of the daemon in ten calls at once, of a core", unit: "%", target: atMost(150, "%") },
  ],
  async open({ folder, quick }) {
    const callers = await startNode([CALLERS], { cwd: folder });
    const daemon = await startDaemon(join(folder, "daemon"), (port) => ({
      ...echoConfig(port),
      channels: { webrtc: { enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"], bot: { enabled: true, whisperBackend: "cloud" } } },
      transcription: { backend: "cloud", server: { url: callers.facts.speech } },
      calls: { summary: false },
    }));
    const seconds = quick ? 6 : 20;
    const { pid, port } = daemon;
    /** So many people talk for so many seconds. */
    async function talk(people) {
      const began = cpuMs(pid);
      const asked = performance.now();
      let most = 0;
      const watch = setInterval(() => {
        most = Math.max(most, residentKb(pid) / 1024);
      }, 250);
      const said = await callers.ask(JSON.stringify({ port, people, seconds }));
      clearInterval(watch);
      if (said.error !== undefined) throw new Error(said.error);
      const percent = (100 * (cpuMs(pid) - began)) / (performance.now() - asked);
      await pause(GONE_MS);
      return { percent, most, ...said };
    }
    const before = residentKb(pid) / 1024;
    return {
      rounds: quick ? 1 : 3,
      async ours() {
        const one = await talk(1);
        const many = await talk(MANY);
        return [one.percent, one.most - before, many.lostMs, many.percent];
      },
      close: () => Promise.all([daemon.stop(), callers.stop()]),
      note: () => `each talks for ${seconds} s, half of it speech`,
    };
  },
};
