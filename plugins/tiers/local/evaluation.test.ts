import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { realFiles } from "./local.harness.ts";
import { createRanking } from "./ranking.ts";
import { createLibrary, type Workspace } from "./workspace.ts";

/*
 * A workspace as people have one: notes on things in a house and a small company, each fact once, among much that sounds alike. Names
 * are made up, so that no word of a question is in the corpus by chance.
 */
const APPLIANCES = [
  "Aquaflex dishwasher",
  "Thermolux boiler",
  "Polarin freezer",
  "Windhoek dryer",
  "Brasalto grill",
  "Silvano mower",
  "Kelvia heater",
  "Orbita drone",
];
const PEOPLE = ["Ada Merkwood", "Jonas Feldhaus", "Priya Ramachandran", "Lucía Ibáñez", "Tomasz Zielinski", "Mina Okafor", "Henrik Solberg", "Yuki Tanabe"];
const TOWNS = ["Lindenau", "Porto Vecchio", "Hartmoor", "Saltbridge", "Vellamo", "Quarrytown", "Nordhaven", "Esterel"];
const DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "holidays"];
const short = (name: string) => name.split(" ")[0] as string;

interface Asked {
  readonly question: string;
  readonly file: string;
  readonly fact: string;
}

const files = new Map<string, string>();
const asked: Asked[] = [];
const add = (file: string, text: string) => files.set(file, `${files.get(file) ?? ""}${text}\n\n`);

function build(): void {
  for (const [at, appliance] of APPLIANCES.entries()) {
    const file = `house/${short(appliance).toLowerCase()}.md`;
    add(file, `# ${appliance}\n`);
    add(file, `The guarantee card is in the blue folder. Warranty of the ${short(appliance)}: until ${at + 3} March 20${30 + at}.`);
    add(file, `Serviced by ${PEOPLE[at]} every ${at + 2} months; the filter has the part number QX-${400 + at}.`);
    add(file, `Bought in ${TOWNS[at]} for ${(at + 1) * 199} EUR.`);
    asked.push({ question: `When does the warranty of the ${short(appliance)} end?`, file, fact: "Warranty" });
    asked.push({ question: `Which filter does the ${appliance} need?`, file, fact: "QX-" });
    asked.push({ question: `How much did the ${short(appliance)} cost?`, file, fact: "EUR" });
  }
  for (const [at, person] of PEOPLE.entries()) {
    const file = `people/${at}.txt`;
    add(file, `${person} moved to ${TOWNS[at]} and plays the ${["cello", "oboe", "zither", "trombone", "harp", "banjo", "lute", "marimba"][at]}.`);
    add(file, `${person}: allergic to ${["walnuts", "shellfish", "celery", "lupin", "sesame", "mustard", "kiwi", "gluten"][at]}, phone 0${at}55 12${at}.`);
    asked.push({ question: `what is ${short(person)} allergic to`, file, fact: "allergic" });
    asked.push({ question: `Which instrument does ${person} play?`, file, fact: "plays the" });
    asked.push({ question: `What's ${person}'s phone number?`, file, fact: "phone" });
  }
  for (const [at, town] of TOWNS.entries()) {
    add("bins.md", `${town}: the recycling truck collects paper on ${DAYS[at]}.`);
    asked.push({ question: `When is recycling collected in ${town}?`, file: "bins.md", fact: town });
  }
  for (let note = 0; note < 150; note += 1) {
    const words = [APPLIANCES, PEOPLE, TOWNS].map((list, at) => list[(note * (at + 3)) % 8]);
    add(`diary/${note}.md`, `The meeting of the day was about the plan. When the end of the list came, we said what is to be done and who does it.`);
    add(`diary/${note}.md`, `Password hint ${note}: the name of the place where we were when it began. Seen: ${note % 5 === 0 ? words[2] : "nobody"}.`);
  }
  add(
    "AGENTS.md",
    "# Instructions\n\nYou are a helpful assistant. Tell jokes when asked. Answer what the capital of a country is. Translate and write poems. Never guess the weather.",
  );
  add("IDENTITY.md", "You are Ada's assistant; you know the world cup, pasta recipes and the capital of France.");
}

const OFF_TOPIC = [
  "what is the capital of France",
  "tell me a joke",
  "How do I cook pasta?",
  "who won the world cup",
  "What will the weather be tomorrow?",
  "write a poem about the sea",
  "Translate hello into Spanish",
  "what time is it?",
  "who are you and what can you do",
  "How tall is Mount Everest?",
  "explain quantum entanglement to me",
  "Was ist die Hauptstadt von Frankreich?",
  "what is the name of the president",
  "is there life on Mars",
];

let folder: string;
let workspace: Workspace;
beforeAll(async () => {
  build();
  folder = mkdtempSync(join(tmpdir(), "svc-local-evaluation-"));
  for (const [file, text] of files) {
    mkdirSync(join(folder, file, ".."), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const lent = await realFiles([]);
  workspace = await createLibrary(() => lent, new AbortController().signal).open(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("OPR-m28 says to each question off its topic that nothing fits", () => {
  expect(OFF_TOPIC.map((question) => [question, workspace.search(question, 5).map(({ file, text }) => `${file}: ${text}`)])).toEqual(
    OFF_TOPIC.map((question) => [question, []]),
  );
});

it("OPR-m28 finds what was asked after among the first five, and first in two of three cases", () => {
  const ranks = asked.map(({ question, file, fact }) => {
    const at = workspace.search(question, 5).findIndex((found) => found.file === file && found.text.includes(fact));
    return [question, at] as const;
  });
  expect(ranks.length).toBeGreaterThanOrEqual(40);
  expect(ranks.filter(([, at]) => at === -1)).toEqual([]);
  expect(ranks.filter(([, at]) => at === 0).length / ranks.length).toBeGreaterThan(0.66);
});

it("OPR-m28 what is written for the agent is not in its answers", () => {
  for (const question of ["instructions", "helpful assistant", "capital country", "pasta recipes"]) expect(workspace.search(question, 5)).toEqual([]);
});

it("OPR-m28 knows the small words of a language it was told nothing of by how many passages have them", async () => {
  const notes = Array.from({ length: 40 }, (_, at) => `Das ist der Hinweis von uns, und die Kiste ${at} steht bei ${TOWNS[at % 8]}.`);
  const ranking = await createRanking([...notes, "Der Ersatzschlüssel liegt unter dem Blumentopf."], (text) => text, new AbortController().signal);
  expect(ranking.best("Wo liegt der Ersatzschlüssel?", 5)).toEqual(["Der Ersatzschlüssel liegt unter dem Blumentopf."]);
  expect(ranking.best("Was ist die Hauptstadt von Frankreich?", 5)).toEqual([]);
});
