import { fork, spawn as spawnNode } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Child, ChildEnd, Inbound, Spawn, Transcription, Turn, TurnContext } from "@svc/sdk";
import { createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import plugin from "./index.ts";
import { checkAgent, isNarrated, type Settings } from "./settings.ts";
import { takeSpeaker } from "./speaker-lock.ts";
import { createSpeech } from "./speech.ts";
import { spokenText } from "./spoken-text.ts";
import { type NoteRow, withNotes } from "./voice-notes.ts";

let folder: string;
const path = process.env["PATH"];
/** Of its own, so that test files beside this one do not wait for each other. */
const speaker = `test-${process.pid}`;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-voice-"));
});
afterEach(() => {
  process.env["PATH"] = path;
  rmSync(folder, { recursive: true, force: true });
});

/** A program of that name on the path, alone with the tools of the system that it needs. */
function install(name: string, script: string) {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}`);
  chmodSync(join(folder, name), 0o755);
  process.env["PATH"] = folder;
}
const SAY = (place: string) =>
  `PATH=/usr/bin:/bin\necho "$@" >> ${place}/args\necho start >> ${place}/said\ncat >> ${place}/said\necho >> ${place}/said\nsleep 0.05\necho end >> ${place}/said\n`;

const spawn: Spawn = (command, args, { cwd, stdin = "ignore", signal }) => {
  const child = spawnNode(command, args, {
    cwd,
    stdio: ["pipe", "ignore", "pipe"],
    env: { PATH: process.env["PATH"] },
    ...(signal === undefined ? {} : { signal }),
  });
  child.stdin.on("error", () => {});
  child.stdin.end(stdin === "ignore" ? "" : stdin);
  let stderr = "";
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const started = new Promise<void>((resolve, reject) => void child.once("spawn", resolve).once("error", reject));
  started.catch(() => {});
  const ended = new Promise<ChildEnd>(
    (resolve) => void child.once("close", (code, ended) => resolve({ code, signal: ended, stdout: "", stderr, truncated: false })),
  );
  return { pid: child.pid ?? 0, started, ended } as Child;
};

function speechOf(settings: Settings, manners: Readonly<Record<string, object>> = {}, signal = new AbortController().signal) {
  const fetch = () => Promise.reject(new Error("no cloud"));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  return createSpeech({ settings: () => ({ speaker, ...settings }), manner: (agent) => manners[agent], spawn, fetch, log, signal });
}
const said = () => readFileSync(join(folder, "said"), "utf8").trim().split("\n");
const args = () => readFileSync(join(folder, "args"), "utf8").trim().split("\n");

describe("narrate", () => {
  it.each([
    [undefined, false, false],
    [undefined, true, false],
    ["off", false, false],
    ["off", true, false],
    ["on", false, true],
    ["on", true, false],
    ["all", false, true],
    ["all", true, true],
  ] as const)("%s, scheduled %s: %s", (narrate, isScheduled, expected) => {
    expect(isNarrated(narrate === undefined ? {} : { narrate }, isScheduled)).toBe(expected);
  });

  it("of an agent goes before that of all, and what somebody asked to hear is always said", async () => {
    install("espeak-ng", SAY(folder));
    const speech = speechOf({ narrate: "on" }, { quiet: { narrate: "off" } });
    expect((await speech.say({ agent: "quiet", text: "one", kind: "answer" })).said).toBe(false);
    expect((await speech.say({ agent: "other", text: "two", kind: "answer" })).said).toBe(true);
    expect((await speech.say({ agent: "other", text: "three", kind: "scheduled" })).said).toBe(false);
    expect((await speech.say({ agent: "quiet", text: "four", kind: "asked" })).said).toBe(true);
    expect(said().filter((line) => !/start|end/.test(line))).toEqual(["two", "four"]);
  });
});

describe("the system's program", () => {
  it("is given the text on its standard input, and hostile words are neither options nor commands", async () => {
    install("espeak-ng", SAY(folder));
    const text = '-v evil --help $(touch /tmp/x) "; rm -rf / <voice name="x">';
    await speechOf({}).say({ text, kind: "asked" });
    expect(args()).toEqual(["--stdin -v en"]);
    expect(said()[1]).toContain("-v evil --help $(touch /tmp/x)");
    expect(said().join(" ")).not.toContain("<");
  });

  it("speaks with the agent's voice of the language, its gender, its intro, and a fallback where a voice is missing", async () => {
    install("espeak-ng", `case "$*" in *gone*) exit 1;; esac\n${SAY(folder)}`);
    const manners = {
      ada: { system: { de: "de-voice" }, intro: "Ada says:" },
      ben: { gender: "female" },
      cleo: { system: "gone", fallbacks: ["gone too", "there"] },
      dora: { system: "-x", fallbacks: [] },
    };
    const speech = speechOf({}, manners);
    for (const [agent, language] of [
      ["ada", "de-AT"],
      ["ada", "de"],
      ["ben", undefined],
      ["cleo", undefined],
      ["dora", undefined],
    ] as const) {
      await speech.say({ agent, text: "hello", kind: "asked", ...(language === undefined ? {} : { language }) });
    }
    expect(args()).toEqual(["--stdin -v de-voice", "--stdin -v de-voice", "--stdin -v en+f3", "--stdin -v there", "--stdin"]);
    expect(said().filter((line) => line.includes("hello"))).toEqual(["Ada says: hello", "hello", "hello", "hello", "hello"]);
  });

  it("that is missing leaves the daemon quiet, and the operator is told", async () => {
    process.env["PATH"] = folder;
    const speech = speechOf({ narrate: "on" });
    expect(await speech.say({ text: "x", kind: "answer" })).toMatchObject({ said: false, reason: expect.stringContaining("install espeak-ng") });
    expect((await speech.usable()).ok).toBe(false);
    const check = plugin.config?.check as (section: Settings, known: { agents: string[] }) => readonly { message: string }[];
    expect(check({ narrate: "on" }, { agents: [] })[0]?.message).toContain("install espeak-ng");
    expect(check({ narrate: "off" }, { agents: [] })).toEqual([]);
    expect(checkAgent({ voice: { narrate: "on" } }, undefined)[0]?.message).toContain("add a section voice");
  });

  it("says one text at a time, in order, and a caller who gives up ends his own only", async () => {
    install("espeak-ng", SAY(folder));
    const speech = speechOf({});
    const abort = new AbortController();
    const all = Array.from({ length: 6 }, (_, n) => speech.say({ text: `text ${n}`, kind: "asked", ...(n === 2 ? { signal: abort.signal } : {}) }));
    abort.abort(new Error("given up"));
    const results = await Promise.allSettled(all);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled", "fulfilled"]);
    expect(said().filter((line) => line.startsWith("text"))).toEqual(["text 0", "text 1", "text 3", "text 4", "text 5"]);
    expect(said().filter((line) => !line.startsWith("text"))).toEqual(Array.from({ length: 5 }, () => ["start", "end"]).flat());
  });
});

it("the speaker of a machine is held by one process, passed on when it lets go, and freed when it is killed", { timeout: 30_000 }, async () => {
  const holder = join(folder, "holder.mjs");
  const lock = join(import.meta.dirname, "dist/speaker-lock.js");
  writeFileSync(
    holder,
    `import { takeSpeaker } from "${lock}";\nawait takeSpeaker("${speaker}", new AbortController().signal);\nprocess.send("held");\nsetInterval(() => {}, 1000);\n`,
  );
  const child = fork(holder, { stdio: "ignore", execArgv: [] });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve) => child.once("message", resolve));
  const { signal } = new AbortController();
  let taken = false;
  const waiting = takeSpeaker(speaker, signal).then((release) => {
    taken = true;
    return release;
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(taken).toBe(false);
  child.kill("SIGKILL");
  await gone;
  const release = await waiting;
  const abort = new AbortController();
  const given = takeSpeaker(speaker, abort.signal);
  abort.abort(new Error("given up"));
  await expect(given).rejects.toThrow("given up");
  const next = takeSpeaker(speaker, signal);
  await release();
  await (await next)();
});

it("markdown is said as words: no code, no addresses, no signs, cut at a sentence", () => {
  const text =
    "# Title\n\nSome **bold** and `code` of [a link](https://x.example/y).\n\n```js\nlet x = 1;\n```\n- one\n- two https://z.example\n\n| a | b |\n|---|---|\n| 1 | 2 |";
  expect(spokenText(text, 1_000)).toBe("Title Some bold and code of a link. one two a b 1 2");
  expect(spokenText("One sentence. Another sentence here. And a third one.", 40)).toBe("One sentence. Another sentence here.");
  expect(spokenText("word ".repeat(100), 40).length).toBeLessThanOrEqual(44);
  expect(spokenText("```\nonly code\n```", 100)).toBe("");
  // Scripts without blanks between words.
  expect(spokenText("今日は晴れです。明日は雨です。明後日は", 16)).toBe("今日は晴れです。明日は雨です。");
  expect(spokenText("字".repeat(100), 40)).toBe(`${"字".repeat(40)} ...`);
  expect(spokenText(`a ${"字".repeat(100)}`, 40)).toBe(`a ${"字".repeat(38)} ...`);
  expect(spokenText(`a${"😀".repeat(100)}`, 40)).toBe(`a${"😀".repeat(19)} ...`);
});

it("a hostile text is made words of within the limit of a test: no pattern takes the square of its length", () => {
  for (const part of [" ", "[", "![", "`", "| ", "-", "https://", "\n", "\n ", "#", "```\n", "1."]) {
    const text = `a\n${part.repeat(300_000)}x`;
    expect(spokenText(text, 1_500).length).toBeLessThanOrEqual(1_504);
  }
});

describe("MESH-05 a voice", () => {
  it("publishes no event: nothing of it crosses the mesh", async () => {
    const context = createFakeContext<Settings>(plugin as never, { config: {}, agents: [{ id: "a" }] });
    plugin.setup(context as never);
    expect(plugin.capabilities).not.toContain("events");
    expect(() => context.events).toThrow(/declaring/);
    expect(context.registered.routes).toEqual([]);
  });
});

describe("voice notes", () => {
  const note = (id: string, name = "a.ogg", more: Partial<Inbound> = {}): Inbound => ({
    id,
    rootId: "r",
    at: 1,
    attempts: 0,
    entry: "channel",
    channel: "c",
    chat: "1",
    text: "",
    media: [{ kind: "audio", path: `/x/${id}-${name}`, name }],
    ...more,
  });
  const turnOf = (...messages: Inbound[]) => ({ messages, agent: { id: "a" } }) as unknown as Turn;
  const contextOf = (prompt: string) => ({ prompt, system: "", layers: [], media: [], history: [] }) as TurnContext;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const { signal } = new AbortController();

  it("are words behind the message's own, each asked for once, also after a restart; another task's is asked for anew", async () => {
    const rows = createMemoryStore().collection<NoteRow>("notes");
    const asked: unknown[] = [];
    const transcription = (): Transcription => ({
      transcribe: async ({ audio }) => {
        asked.push(audio);
        return { text: `words of ${audio}`, backend: "cloud" };
      },
      usable: async () => ({ ok: true, detail: "" }),
    });
    const deps = { rows, transcription, log };
    for (const _ of [1, 2]) {
      const context = await withNotes(contextOf("look"), turnOf(note("t1")), deps, signal);
      expect(context.prompt).toBe("look\n\n(voice note, spoken:) words of /x/t1-a.ogg");
    }
    expect(asked).toEqual(["/x/t1-a.ogg"]);
    const both = await withNotes(contextOf(""), turnOf(note("t2", "b.ogg", { sender: { id: "1", name: "Ann\n(x" } }), note("t3")), deps, signal);
    expect(both.prompt).toBe("(voice note of Ann (x, spoken:) words of /x/t2-b.ogg\n\n(voice note, spoken:) words of /x/t3-a.ogg");
  });

  it("that nobody can read go on with words that say so, and no reason of the operator's", async () => {
    const rows = createMemoryStore().collection<NoteRow>("notes");
    const failing = (code: string) => ({
      transcribe: () => Promise.reject(Object.assign(new Error("http://secret.example answered 500"), { code })),
      usable: async () => ({ ok: false, detail: "" }),
    });
    for (const [served, expected] of [
      [undefined, "as nothing here does that"],
      [failing("SVC_TRANSCRIPTION_OFF"), "as nothing here does that"],
      [failing("SVC_TRANSCRIPTION_FAILED"), "the recogniser failed"],
    ] as const) {
      const { prompt } = await withNotes(contextOf("look"), turnOf(note("t1")), { rows, transcription: () => served, log }, signal);
      expect(prompt).toContain(expected);
      expect(prompt).toMatch(/^look\n\n\(voice note/);
      expect(prompt).not.toContain("secret");
    }
    const silent = { transcribe: async () => ({ text: "", backend: "local" as const }), usable: failing("").usable };
    expect((await withNotes(contextOf(""), turnOf(note("t9")), { rows, transcription: () => silent, log }, signal)).prompt).toBe(
      "(voice note: nothing was said)",
    );
  });
});
