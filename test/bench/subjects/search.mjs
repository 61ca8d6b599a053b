/**
 * A workspace full of text, indexed by the plugin through the kernel's own route. A line `blocking|thread|ours <times>` is
 * answered with the milliseconds of three searches: for a rare word, for two words, for three.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Worker } from "node:worker_threads";
import ragLexical from "@svc/action-rag-lexical";
import { createKernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import local from "@svc/tier-local";
import Database from "better-sqlite3";
import { median } from "../rounds.mjs";

const [folder, documents] = process.argv.slice(2);
const A_FILE = 100;
const WORDS = 5_000;

/** The same numbers each time, so that each run searches the same text. */
let seed = 42;
const random = () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
};
/** Few words often, most seldom, as in a language. */
const word = () => `word${Math.floor(WORDS * random() ** 3)}`;
const document = (at) => {
  const words = Array.from({ length: 130 }, word);
  if (at % 1_000 === 0) words[7] = "zebrafish";
  return words.join(" ").replaceAll(/((?:\S+ ){13})/g, "$1\n");
};

const workspace = join(folder, "workspace");
mkdirSync(workspace);
for (let file = 0; file * A_FILE < Number(documents); file += 1) {
  const texts = Array.from({ length: A_FILE }, (_, at) => document(file * A_FILE + at));
  writeFileSync(join(workspace, `notes-${file}.md`), texts.join("\n\n"));
}

let actions;
const asker = definePlugin({
  kind: "feature",
  name: "asker",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["actions"],
  setup(ctx) {
    actions = ctx.actions;
  },
});
const kernel = await createKernel({
  config: { node: { id: "bench", name: "Bench", bind: "127.0.0.1:0" }, agents: { reader: { name: "Reader", workspace, tier: "local" } } },
  plugins: [local, ragLexical, asker],
  folder,
  dataFolder: join(folder, ".svc"),
  listen: true,
});
await kernel.start();
const built = await fetch(`http://127.0.0.1:${kernel.address.port}/api/agents/reader/index`, { method: "POST" });
const { pieces } = await built.json();

const file = join(folder, ".svc/plugins/action-rag-lexical/reader.db");
const raw = new Database(file, { readonly: true });
const find = raw.prepare("SELECT path, line, -rank AS score FROM pieces WHERE pieces MATCH ? ORDER BY rank LIMIT 10");
const thread = new Worker(new URL("../floors/search-thread.mjs", import.meta.url), { workerData: file });
let heard;
thread.on("message", (rows) => heard(rows));
const QUESTIONS = ["zebrafish", "word4711 word4300", "word900 word2100 word3300"];

const sides = {
  blocking: (question) => find.all(question.split(" ").join(" OR ")),
  thread: (question) =>
    new Promise((resolve) => {
      heard = resolve;
      thread.postMessage(question.split(" ").join(" OR "));
    }),
  async ours(question) {
    const answer = await actions.run("rag.lexical", { agentId: "reader", query: question }, { door: "bench" });
    if (answer.status !== "ok" || answer.output.results.length === 0) throw new Error(JSON.stringify(answer));
  },
};

process.on("SIGTERM", async () => {
  raw.close();
  await thread.terminate();
  await kernel.stop();
  process.exit(0);
});
console.log(JSON.stringify({ pieces }));
for await (const line of createInterface({ input: process.stdin })) {
  const [side, times] = line.split(" ");
  let ms = 0;
  for (const question of QUESTIONS) {
    const taken = [];
    for (let time = 0; time < Number(times); time += 1) {
      const began = performance.now();
      await sides[side](question);
      taken.push(performance.now() - began);
    }
    ms += median(taken);
  }
  console.log(JSON.stringify({ ms }));
}
