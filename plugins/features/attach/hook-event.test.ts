import { describe, expect, it } from "vitest";
import { type HookName, readHook } from "./hook-event.ts";

const bytes = (value: unknown) => new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
const CLAUDE = { "x-svc-program": "claude", "x-svc-pid": "14719", "x-svc-version": "claude-code_2-1-329_harness" };
const SESSION = "53d08516-f20d-4710-851b-2baeffa1ce07";
const place = { session_id: SESSION, transcript_path: `/home/u/.claude/projects/-work/${SESSION}.jsonl`, cwd: "/work" };

/** As the programs have sent them, and what is kept of each. */
const GOLDEN: readonly (readonly [string, HookName, Record<string, string>, object, object])[] = [
  [
    "Claude Code, SessionStart",
    "session-start",
    CLAUDE,
    { ...place, hook_event_name: "SessionStart", source: "startup", model: "claude-opus-5-5" },
    { source: "startup" },
  ],
  [
    "Claude Code, UserPromptSubmit",
    "prompt",
    CLAUDE,
    { ...place, prompt_id: "b9be81ca", permission_mode: "auto", hook_event_name: "UserPromptSubmit", prompt: "the words of the person" },
    { turn: "b9be81ca", permissionMode: "auto" },
  ],
  [
    "Claude Code, UserPromptSubmit of a woken turn",
    "prompt",
    CLAUDE,
    {
      ...place,
      prompt_id: "b9be81cb",
      permission_mode: "auto",
      hook_event_name: "UserPromptSubmit",
      prompt: "<task-notification>\n<summary>Stop hook feedback</summary>",
    },
    { turn: "b9be81cb", permissionMode: "auto", woken: true },
  ],
  [
    "Claude Code, Stop",
    "stop",
    CLAUDE,
    {
      ...place,
      prompt_id: "b9be81ca",
      permission_mode: "auto",
      effort: { level: "medium" },
      hook_event_name: "Stop",
      stop_hook_active: true,
      last_assistant_message: "the words of the model",
      background_tasks: [],
      session_crons: [],
    },
    { turn: "b9be81ca", permissionMode: "auto", continued: true },
  ],
  ["Claude Code, SessionEnd", "session-end", CLAUDE, { ...place, hook_event_name: "SessionEnd", reason: "prompt_input_exit" }, { reason: "prompt_input_exit" }],
  [
    "Codex, Stop",
    "stop",
    { "x-svc-program": "codex" },
    { ...place, turn_id: "7", hook_event_name: "Stop", stop_hook_active: false, last_assistant_message: null },
    { turn: "7", program: "codex", version: undefined, pid: undefined },
  ],
  [
    "Gemini CLI, AfterAgent",
    "stop",
    { "x-svc-program": "gemini" },
    { ...place, hook_event_name: "AfterAgent", timestamp: "2026-11-20T10:00:00Z", prompt: "p", prompt_response: "r", stop_hook_active: false },
    { program: "gemini", version: undefined, pid: undefined },
  ],
];

describe("what a hook sends", () => {
  it.each(GOLDEN)("is read: %s; words of a person or a model are not kept", (_, hook, headers, body, kept) => {
    const event = readHook(hook, headers, bytes(body));
    const common = {
      hook,
      session: SESSION,
      cwd: "/work",
      program: "claude",
      version: "claude-code_2-1-329_harness",
      pid: 14719,
      continued: false,
      woken: false,
    };
    expect(event).toEqual(Object.fromEntries(Object.entries({ ...common, ...kept }).filter(([, value]) => value !== undefined)));
    expect(JSON.stringify(event)).not.toMatch(/the words of|task-notification|transcript/);
  });

  it.each([
    ["nothing", new Uint8Array()],
    ["half of it", bytes('{"session_id":"s"')],
    ["a list", bytes([])],
    ["no session", bytes({ cwd: "/work" })],
    ["a session that is no word", bytes({ session_id: { a: 1 } })],
    ["a session that is too long", bytes({ session_id: "x".repeat(1_001) })],
    ["bytes that are no text", new Uint8Array([0x7b, 0xff, 0x7d])],
  ])("is none of ours where it is %s", (_, body) => {
    expect(readHook("stop", CLAUDE, body)).toBeUndefined();
  });

  it.each(["", "0", "1", "-5", "1.5", "1e400", "abc", ["1", "2"]])("has no process where the header says %j", (pid) => {
    expect(readHook("stop", { "x-svc-pid": pid as string }, bytes({ session_id: "s" }))).not.toHaveProperty("pid");
  });
});
