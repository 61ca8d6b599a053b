import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../house/house.ts";

/** Makes short-lived objects for a while, and prints how large the space of young objects has become, in MB. */
const program = (before: string) => `
import { getHeapSpaceStatistics } from "node:v8";
import { Worker } from "node:worker_threads";
import { keepHeapSmall } from ${JSON.stringify(join(ROOT, "cli/dist/daemon/heap.js"))};
${before}
const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
await new Promise((resolve) => worker.once("online", resolve));
const kept = [];
for (let round = 0; round < 40; round += 1) {
  for (let n = 0; n < 200_000; n += 1) {
    const made = { n, text: "x" + n, list: [n, { n }] };
    if (n % 10 === 0) kept[n % 100_000] = made;
  }
  await new Promise(setImmediate);
}
console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space").space_size / 1e6);
process.exit();
`;
const youngMegabytes = (before: string): number =>
  Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program(before)], { encoding: "utf8", env: { PATH: process.env.PATH ?? "" } }));

it("young objects keep the space that the start has made, also when a thread begins, which sets V8's option back", () => {
  expect(youngMegabytes("")).toBeGreaterThan(30);
  expect(youngMegabytes("keepHeapSmall();")).toBeLessThan(18);
});
