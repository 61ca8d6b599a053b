import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TierEvent } from "@svc/sdk";
import { createFakeContext, createMemoryStore, createMemoryWarm, createRealSpawn } from "@svc/sdk/testing";
import { afterEach, expect, it } from "vitest";
import plugin from "./index.ts";

const { spawn, processes, stopAll } = createRealSpawn();
const folder = mkdtempSync(join(tmpdir(), "svc-cli-b-"));
afterEach(async () => {
  await stopAll();
  rmSync(folder, { recursive: true, force: true });
});

/** As the real one: a thread that is open keeps the sandbox that it was opened with. An answer names its thread, the sandbox and what was said before. */
const PROGRAM = `
const threads = new Map();
const out = (message) => console.log(JSON.stringify(message));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  const open = (said) => {
    const thread = { id: "t" + (threads.size + 1), sandbox: params.sandbox, said };
    threads.set(thread.id, thread);
    return { thread: { id: thread.id } };
  };
  if (id === undefined) return;
  const thread = threads.get(params.threadId);
  if (method === "thread/start") out({ id, result: open([]) });
  else if (method === "thread/fork") out({ id, result: open([...thread.said]) });
  else if (method === "turn/start") {
    const text = thread.id + " " + thread.sandbox + " " + thread.said.join(",");
    thread.said.push(params.input[0].text);
    const turn = { id: "turn" };
    out({ id, result: { turn } });
    out({ method: "item/completed", params: { threadId: thread.id, item: { type: "agentMessage", id: "m", text } } });
    out({ method: "turn/completed", params: { threadId: thread.id, turn: { ...turn, status: "completed" } } });
  } else out({ id, result: {} });
});`;

it("a permissionMode that was changed counts for the next turn of a conversation that is kept", async () => {
  const context = createFakeContext(plugin as never, {
    config: { command: process.execPath } as never,
    env: { PATH: process.env.PATH ?? "" },
    spawn: (command, _args, options) => spawn(command, ["-e", PROGRAM], options),
    store: createMemoryStore(),
    warm: createMemoryWarm(),
  });
  plugin.setup(context as never);
  let session: string | undefined;
  const say = async (prompt: string, permissionMode: string) => {
    const agent = {
      id: "ben",
      name: "Ben",
      workspace: folder,
      tier: "cli-b",
      mentions: [],
      access: "private",
      settings: { persistentProcess: true, permissionMode },
    };
    const messages = [{ id: prompt, rootId: prompt, at: 0, attempts: 0, entry: "task", channel: "test", chat: "chat", text: prompt }];
    const turn = { id: prompt, rootId: prompt, agent, messages, route: { agent: "ben", conversation: "ben:chat" } };
    const given = { system: "", layers: [], prompt, media: [], history: [], ...(session === undefined ? {} : { session }) };
    const events: TierEvent[] = [];
    for await (const event of context.registered.tiers[0]!.run(turn as never, given as never, new AbortController().signal)) events.push(event);
    session = events.find((event) => event.type === "session")?.id;
    return (events.at(-1) as { text?: string }).text;
  };
  expect(await say("one", "bypassPermissions")).toBe("t1 danger-full-access ");
  expect(await say("two", "bypassPermissions")).toBe("t1 danger-full-access one");
  expect(await say("three", "default")).toBe("t2 read-only one,two");
  expect(await say("four", "default")).toBe("t2 read-only one,two,three");
  expect(await say("five", "acceptEdits")).toBe("t3 workspace-write one,two,three,four");
  expect(processes()).toHaveLength(1);
});
