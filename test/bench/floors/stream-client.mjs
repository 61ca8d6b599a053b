/**
 * Streamed calls of a model, and nothing else. For each line `<callers> <milliseconds>` it makes such calls and prints calls a second and
 * the median in milliseconds. `stream-client.mjs <endpoint>`
 */
import { createInterface } from "node:readline";
import { streamedCall } from "./streamed-call.mjs";

const call = streamedCall(process.argv[2]);

async function run(callers, ms) {
  const times = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let now = performance.now(); now < began + ms; ) {
        const text = await call("a short message in a few words");
        if (!text.includes("word 7")) throw new Error(`the answer is ${text}`);
        const later = performance.now();
        times.push(later - now);
        now = later;
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  times.sort((one, other) => one - other);
  return { perSecond: times.length / seconds, p50: times[times.length >> 1] };
}

createInterface({ input: process.stdin }).on("line", (line) => void run(...line.split(" ").map(Number)).then((facts) => console.log(JSON.stringify(facts))));
process.on("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ ready: true }));
