import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { echoConfig, startDaemon } from "./daemon.mjs";
import { answered, freePort } from "./process.mjs";
import { ratioAtMost, told } from "./rounds.mjs";

const FLOOR = join(import.meta.dirname, "floors/http.mjs");
const LOADED = 10;
const isLoaded = ({ state }) => state === "running" || state === "loaded";

async function startBare() {
  const port = await freePort();
  const began = performance.now();
  const child = spawn(process.execPath, [FLOOR, String(port)], { stdio: "ignore" });
  await answered(port, "/health");
  const ms = performance.now() - began;
  child.kill("SIGTERM");
  await once(child, "close");
  return ms;
}

export default {
  id: "P3",
  title: "cold start until /health answers",
  against: "a bare node:http server",
  lines: [
    { what: `start to /health, all known, ${LOADED} plugins loaded`, unit: "ms", target: ratioAtMost(4) },
    { what: "start to /health, as configured by default", unit: "ms", target: told },
  ],
  async open({ folder }) {
    const usual = await startDaemon(join(folder, "first"));
    const loaded = usual.health.plugins.filter(isLoaded).map(({ id }) => id);
    const known = usual.health.plugins.length;
    await usual.stop();
    // Those beyond ten are switched off; the tier stays, or there would be no agent, and the store, without which nothing starts.
    const extra = loaded.filter((id) => id !== "tier-local" && !id.startsWith("store-")).slice(LOADED - 1);
    const ten = (port) => echoConfig(port, { plugins: extra.map((id) => `!${id}`) });
    let count = 0;
    const time = async (makeConfig) => {
      count += 1;
      const daemon = await startDaemon(join(folder, String(count)), makeConfig);
      await daemon.stop();
      return daemon.startedMs;
    };
    return {
      floor: async () => {
        const ms = await startBare();
        return [ms, ms];
      },
      ours: async () => [await time(ten), await time(echoConfig)],
      note: () => `${known} plugins known, ${loaded.length} load by default; each start makes its database`,
    };
  },
};
