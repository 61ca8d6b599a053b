/** Prints the CPU that many cron jobs cost. The clock is turned by hand, so that a minute need not be waited for. Arguments: folder, how many. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createBegunMinutes } from "../../../kernel/dist/schedule/begun-minutes.js";
import { createSchedule } from "../../../kernel/dist/schedule/schedule.js";
import { openStore } from "../../../plugins/stores/sqlite/dist/open.js";

const [folder, count] = process.argv.slice(2);
const MINUTE = 60_000;
mkdirSync(folder, { recursive: true });
const store = openStore({ file: join(folder, "svc.db") });
const core = store.scope("core");
let clock = Date.parse("2026-01-05T07:58:30Z");
const now = () => clock;
const log = { debug() {}, info() {}, warn() {}, error: (facts, text) => Promise.reject(new Error(`${text}: ${JSON.stringify(facts)}`)) };

async function measured(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

let ran = 0;
let wanted = 0;
let allRan = () => {};
const minutes = createBegunMinutes({ node: "bench", store: core, now, isDead: async () => false });
const schedule = createSchedule({ claim: minutes.claim, end: (job, minute) => void minutes.end(job, minute), log, now });
const run = async () => {
  ran += 1;
  if (ran === wanted) allRan();
};

/** The minute after the next begins; resolves when as many jobs have run. */
function nextMinute(due) {
  clock += MINUTE;
  ran = 0;
  wanted = due;
  const done = new Promise((resolve) => {
    allRan = resolve;
  });
  schedule.tick();
  return due === 0 ? undefined : done;
}

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"];
const jobs = Number(count);
const register = await measured(() => {
  for (let at = 0; at < jobs; at += 1) schedule.cron(`feature-bench/job-${at}`, at % 10 === 0 ? "59 * * * *" : `${at % 59} */2 * * *`, zones[at % 3], run);
});
const tenth = await measured(() => nextMinute(jobs / 10));
for (let at = 0; at < jobs; at += 1) schedule.cron(`feature-bench/job-${at}`, "* * * * *", zones[at % zones.length], run);
const all = await measured(() => nextMinute(jobs));
schedule.stop();
await store.close();
console.log(JSON.stringify({ register, tenth, all }));
