import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type SeededTask, seedFolder } from "../../kit/seeded-traces.ts";
import { echoAgent } from "./dashboard.ts";

/** Agents whose names are as people choose them: long, in other scripts, from right to left, without a space. */
export const AGENTS = {
  reviewer: echoAgent({ name: "Code reviewer", maxConcurrent: 2 }),
  "translator-cjk": echoAgent({ name: "翻訳アシスタント（日本語・中文・한국어）" }),
  "home-butler": echoAgent({ name: "Home butler", local: { mode: "echo", delayMs: 600_000 } }),
  "release-notes-curator-frontend-monorepo": echoAgent({ name: "Release notes and changelog curator of the frontend monorepo" }),
  "night-crawler": echoAgent({ name: "Night crawler" }),
  "scheduler-ar": echoAgent({ name: "مساعد الجدولة" }),
  unbroken: echoAgent({ name: "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamter" }),
  slow: echoAgent({ name: "Slow speaker", local: { mode: "echo", chunks: 12, delayMs: 250, step: true } }),
  still: echoAgent({ name: "Still speaker", local: { mode: "echo", delayMs: 600_000 } }),
  fast: echoAgent({ name: "Fast speaker", local: { mode: "echo", chunks: 2_000 } }),
  held: echoAgent({ name: "Long worker", local: { mode: "echo", delayMs: 600_000, step: true } }),
} as const;

const WORDS = [
  "@reviewer please look at the retry logic again, the back-off in src/net/retry-with-exponential-backoff-and-jitter.ts seems to wait too long",
  "「来週の金曜日の保護者会の案内を、英語とポルトガル語に訳して、やさしい言い方にしてください。」",
  "من فضلك رتب اجتماعات الأسبوع القادم",
  "Summarise the failing tests of run 88412",
  "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz".repeat(2),
  "Bins out?",
];
const IDS = Object.keys(AGENTS).slice(0, 7);
const MINUTE = 60_000;

/** The n-th of `count` tasks of the last days, one each `every` milliseconds, the newest a minute ago. */
export function pastTask(n: number, count: number, now: number, every: number): SeededTask {
  const agent = IDS[(n * 5 + (n >> 3)) % IDS.length] as string;
  const at = now - MINUTE - (count - 1 - n) * every;
  const took = 900 + ((n * 7_919) % 40_000);
  const text = WORDS[n % WORDS.length] as string;
  const common = {
    at,
    agent,
    took,
    text: n % 97 === 5 ? `Needle ${n}: ${text}` : text,
    channel: n % 3 === 0 ? "botmsg" : n % 3 === 1 ? "forge_a" : "http",
    chat: n % 3 === 1 ? "frontend/monorepo !4182" : "家族グループ",
  };
  if (n % 23 === 7) return { ...common, status: "error", error: "cli-a: engine not found; install it with npm install -g cli-a", errorKind: "program" };
  if (n % 41 === 3) return { ...common, status: "error", error: "cancelled", errorKind: "cancelled" };
  if (n % 61 === 11) return { ...common, status: "timeout", error: "timed out after 600s", errorKind: "timeout" };
  return {
    ...common,
    response: `Only for status 429. For 503 it is read and then thrown away, because \`parseDelay()\` returns early:\n\n\`\`\`ts\nif (Number.isNaN(Number(header))) return undefined;\n\`\`\`\n\nTwo lines mend it; **shall I open a change?**`,
    usage: { input: 1_000 + (n % 900), output: 120 + (n % 400), cacheRead: 4_000, ...(n % 4 === 0 ? {} : { cost: 0.0194 * (1 + (n % 9)) }) },
    ...(n % 5 === 0 ? { steps: stepsOf(at, took), more: { model: "large-model-4", sessionId: "8b7d6f62-0b1c-4f4e-9a3d-2f9f7a0e1c55" } } : {}),
  };
}

function stepsOf(at: number, took: number): readonly object[] {
  const part = took / 12;
  return [
    {
      name: "read_file",
      kind: "tool",
      at: at + part,
      durationMs: part / 2,
      input: "src/net/retry-with-exponential-backoff-and-jitter.ts",
      output: "240 lines",
    },
    { name: "search", kind: "tool", at: at + 2 * part, durationMs: 2 * part, input: '"Retry-After" in src/' },
    { name: "read_file", kind: "tool", at: at + 4 * part, durationMs: part / 3, input: "test/net/重試與退避.test.ts" },
    {
      name: "shell",
      kind: "tool",
      at: at + 5 * part,
      durationMs: 4 * part,
      input: '{"command":"npx vitest run test/net","cwd":"/home/anna/work/frontend"}',
      output: Array.from({ length: 60 }, (_, line) => `  ✓ test/net/retry.test.ts line ${line}`).join("\n"),
      error: "AssertionError: expected 2000 to be 30000 at test/net/retry.test.ts:41:27",
    },
    { name: "edit_file", kind: "tool", at: at + 10 * part, durationMs: part / 2, input: "src/net/retry.ts" },
  ];
}

/** Stores so many tasks of the last days in the folder of a daemon that does not run yet; gives their ids, the oldest first. */
export async function pastDays(folder: string, count: number, every = 4 * MINUTE, now = Date.now()): Promise<string[]> {
  mkdirSync(join(folder, ".svc"), { recursive: true });
  return seedFolder(join(folder, ".svc/svc.db"), count, (n) => pastTask(n, count, now, every));
}
