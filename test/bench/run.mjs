/**
 * What svc costs, as ratios to the floor it stands on. Each figure measures a bare program that does the least that must be done and
 * svc doing the same, by turns and in the same run, because absolute numbers tell only about the machine.
 *
 *   npm run bench                    all figures, several minutes
 *   npm run bench -- --quick         fewer rounds and smaller numbers
 *   npm run bench -- --only P5,P6    these only
 *   npm run bench -- --json          machine, figures and every round as JSON
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FIGURES } from "./figures.mjs";
import { describeMachine } from "./machine.mjs";
import { ROOT } from "./process.mjs";
import { measure } from "./rounds.mjs";
import { printTable } from "./table.mjs";

const { values: options } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, only: { type: "string" }, rounds: { type: "string" } },
});
const names = new Map([...FIGURES.keys()].map((id) => [id.toLowerCase(), id]));
const only = options.only?.split(",").map((id) => names.get(id.toLowerCase()) ?? id);
const unknown = only?.filter((id) => !FIGURES.has(id)) ?? [];
if (unknown.length > 0) {
  console.error(`There is no figure ${unknown.join(", ")}; there are ${[...FIGURES.keys()].join(", ")}.`);
  process.exit(2);
}
if (!existsSync(join(ROOT, "kernel/dist/index.js"))) {
  console.error("Nothing is built yet; build first with: npm run build");
  process.exit(2);
}

const say = (text) => process.stderr.write(text);
const machine = describeMachine();
if (!options.json) {
  const { node, system, processor, cores, memoryGiB, load, fsyncMs, fileSystem } = machine;
  console.log(`node ${node}, ${system}, ${cores} x ${processor}, ${memoryGiB} GiB, load ${load.join(" ")}, fsync ${fsyncMs} ms on ${fileSystem}\n`);
}

const results = [];
const skipped = [];
const failed = [];
for (const [id, load] of FIGURES) {
  if (only !== undefined && !only.includes(id)) continue;
  const figure = (await load()).default;
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const began = performance.now();
  say(`${id} ${figure.title} ... `);
  try {
    const reason = figure.skip?.();
    if (reason !== undefined) {
      skipped.push({ id, reason });
      say(`skipped: ${reason}\n`);
      continue;
    }
    const rounds = Number(options.rounds ?? (options.quick ? 3 : 7));
    results.push(...(await measure(figure, { folder, quick: options.quick === true, rounds })));
    say(`${((performance.now() - began) / 1000).toFixed(1)} s\n`);
  } catch (error) {
    // One figure that cannot be measured keeps no other from being told.
    failed.push({ id, error: String(error?.stack ?? error) });
    say(`failed: ${error?.message ?? error}\n`);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (options.json) console.log(JSON.stringify({ machine, quick: options.quick === true, results, skipped, failed }, null, 2));
else {
  console.log();
  printTable(results);
  const notes = new Map(results.map(({ id, note, against }) => [id, [`against ${against}`, note].filter(Boolean).join("; ")]));
  console.log();
  for (const [id, note] of notes) console.log(`${id}: ${note}`);
  for (const { id, reason } of skipped) console.log(`${id} was skipped: ${reason}`);
  for (const { id, error } of failed) console.log(`${id} failed: ${error}`);
}
// What a figure that failed has left running keeps this process no longer.
process.exit(failed.length === 0 ? 0 : 1);
