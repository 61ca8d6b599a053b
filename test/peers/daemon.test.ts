import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openShell, type Shell } from "../kit/svc.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { missing, PROGRAMS } from "./programs.ts";

const skipped = missing("claude") ?? missing("codex") ?? missing("gemini");
if (skipped) console.warn(`skipped: ${skipped}`);

/** The whole daemon, as a person starts it, with an agent on the real programs. */
describe.skipIf(skipped)("the daemon with real programs", () => {
  let server: ModelServer;
  let shell: Shell;

  beforeEach(async () => {
    server = await startModelServer();
    shell = await openShell({
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: "dummy-key",
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: "dummy-key",
      GOOGLE_GEMINI_BASE_URL: server.url,
      GEMINI_API_KEY: "dummy-key",
    });
  });
  afterEach(async () => {
    await shell.end();
    expect(server.refusals, "requests that the real API would refuse").toEqual([]);
    await server.close();
    expect(children(shell), "processes left behind").toEqual([]);
  });

  /** Starts the daemon with an agent `ada`, its home in the test's folder. */
  async function start(agent: Record<string, unknown>, rest: Record<string, unknown> = {}): Promise<void> {
    for (const folder of ["w", "claude", "codex"]) mkdirSync(join(shell.folder, folder), { recursive: true });
    shell.write({
      node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "ada" },
      agents: { ada: { name: "Ada", workspace: "./w", systemPrompt: "You are Ada.", billing: "api", ...agent } },
      tiers: {
        "cli-a": { command: PROGRAMS.claude, env: { CLAUDE_CONFIG_DIR: join(shell.folder, "claude") } },
        // At each start it runs a login shell: one without the settings of whoever runs the tests.
        "cli-b": { command: PROGRAMS.codex, env: { CODEX_HOME: join(shell.folder, "codex"), HOME: join(shell.folder, "codex") } },
        "cli-c": { command: PROGRAMS.gemini, env: { GEMINI_CLI_HOME: shell.folder } },
      },
      ...rest,
    });
    const started = await shell.svc("daemon", "start");
    expect(started.err + started.out).toContain("The daemon is up on");
  }

  const port = () => JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")).port as number;

  async function task(
    message: string,
    extra: Record<string, unknown> = {},
  ): Promise<{ reply: string; ok: boolean; taskId: string; error?: string; errorKind?: string }> {
    const response = await fetch(`http://127.0.0.1:${port()}/task`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ agent: "ada", message, ...extra }),
    });
    const text = await response.text();
    const frame = text.startsWith("{")
      ? text
      : (text
          .split("\n")
          .findLast((line) => line.startsWith("data: "))
          ?.slice(6) ?? "{}");
    return JSON.parse(frame);
  }

  async function cancel(taskId: string): Promise<void> {
    await fetch(`http://127.0.0.1:${port()}/api/tasks/${taskId}/cancel`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  }

  /** A run on a model that never answers, cancelled once the program is at it; resolves with its last frame. */
  async function cancelled(chatId: string): Promise<{ errorKind?: string }> {
    const response = await fetch(`http://127.0.0.1:${port()}/task`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ agent: "ada", message: "HANG", context: { channel: "http", chatId } }),
    });
    let text = "";
    let taskId: string | undefined;
    for await (const part of response.body as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString();
      if (taskId !== undefined || !text.includes("event: session")) continue;
      taskId = /"taskId":"([^"]+)"/.exec(text)?.[1];
      await cancel(taskId ?? "");
    }
    return JSON.parse(
      text
        .split("\n")
        .findLast((line) => line.startsWith("data: "))
        ?.slice(6) ?? "{}",
    );
  }

  it("K28 asks on the command line what the program may do; a question that kill -9 interrupts is withdrawn, and asked anew by the resumed run", async () => {
    await start({ tier: "cli-a", permissionQuestions: "ask" });
    const first = task('CALL:Write:{"file_path":"note.txt","content":"asked words"} now').catch(() => undefined);
    const open = (other = "") =>
      vi.waitFor(
        async () => {
          const { approvals } = await shell.ask<{ approvals: readonly { id: string }[] }>("/approvals?open=true&limit=1000");
          return approvals.find(({ id }) => id !== other)?.id ?? Promise.reject(new Error("no question is open"));
        },
        { timeout: 60_000, interval: 100 },
      );
    const before = await open();
    expect(await shell.json("approval", "list")).toMatchObject([{ id: before }]);
    process.kill(shell.pid(), "SIGKILL");
    await first;
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const after = await open(before);
    const all = await shell.json<readonly { id: string; state: string; detail: string }[]>("approval", "list", "--all");
    expect(all.find(({ id }) => id === before)).toMatchObject({ state: "withdrawn", detail: expect.stringContaining("asked words") });
    expect(existsSync(join(shell.folder, "w/note.txt"))).toBe(false);
    expect(await shell.svc("approval", "approve", before)).toMatchObject({ code: 1, err: expect.stringContaining("it was withdrawn") });
    expect(await shell.svc("approval", "approve", after)).toMatchObject({ code: 0 });
    while (!existsSync(join(shell.folder, "w/note.txt"))) await new Promise((resolve) => setTimeout(resolve, 50));
    expect(readFileSync(join(shell.folder, "w/note.txt"), "utf8")).toBe("asked words");
  });

  it("the same agent answers on each engine by changing one word", async () => {
    await start({ tier: "cli-a" }, { providers: { anthropic: { endpoint: server.url, apiKey: "a-dummy-key-of-the-test" } } });
    for (const tier of ["cli-a", "cli-b", "sdk", "orchestrator", "cli-c", "local"]) {
      shell.write({
        ...shell.config(),
        agents: { ada: { ...(shell.config().agents as { ada: object }).ada, tier, ...(tier === "cli-c" ? { model: "gemini-2.5-flash" } : {}) } },
      });
      // It has just been started with the first.
      if (tier !== "cli-a") {
        await shell.svc("daemon", "stop");
        expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
      }
      const answer = await task(tier === "local" ? "what can you do" : `hello ${tier}`);
      expect(answer, tier).toMatchObject({ ok: true });
      expect(answer.reply).toContain(tier === "local" ? "holds no text files" : `hello ${tier}`);
    }
  });

  it("a bare hello sends the model fewer than 6 KB of our own words", async () => {
    await start({ tier: "cli-a", systemPrompt: "MARK-OF-ADA You are Ada." });
    await task("hello");
    const body = server.requests.find(({ api }) => api === "messages")?.body as {
      system: { text: string }[];
      messages: { content: string | { text?: string }[] }[];
    };
    const appended = body.system.map(({ text }) => text).find((text) => text.includes("MARK-OF-ADA")) ?? "";
    const ours = appended.slice(appended.indexOf("MARK-OF-ADA"));
    const said = body.messages
      .flatMap(({ content }) => (typeof content === "string" ? [content] : content.map(({ text }) => text ?? "")))
      .filter((text) => !/^(<system-reminder>|# Environment\n)/.test(text));
    expect(ours).not.toBe("");
    expect(said.join("")).toContain("hello");
    expect(Buffer.byteLength(ours + said.join(""))).toBeLessThan(6 * 1024);
  });

  it("SES-01 a conversation of 45 turns rotates at turn 41, with its event and its log line", async () => {
    await start({ tier: "cli-a", persistentProcess: true }, { session: { maxClaudeCodeDispatchesPerHour: 1000 } });
    const sessions: (string | undefined)[] = [];
    for (let turn = 1; turn <= 45; turn++) {
      const answer = await task(`turn ${turn}`);
      expect(answer, `turn ${turn}`).toMatchObject({ ok: true });
      sessions.push((await shell.ask<Trace>(`/traces/${answer.taskId}`)).sessionId);
    }
    expect(new Set(sessions.slice(0, 40)).size).toBe(1);
    expect(new Set(sessions.slice(40)).size).toBe(1);
    expect(sessions[40]).not.toBe(sessions[39]);
    expect((await shell.svc("daemon", "logs")).out).toMatch(/rotat/i);
  }, 300_000);

  it("kill -9 of the daemon while a command runs: nothing is left after the next start", async () => {
    await start({ tier: "cli-a" });
    // The operator's own rule lets commands run.
    writeFileSync(join(shell.folder, "claude", "settings.json"), JSON.stringify({ permissions: { allow: ["Bash"] } }));
    const running = task('CALL:Bash:{"command":"tail -f /dev/null | cat","description":"wait"}').catch(() => undefined);
    await expect.poll(() => children(shell).length, { timeout: 30_000 }).toBeGreaterThan(2);
    const before = children(shell);
    process.kill(shell.pid(), "SIGKILL");
    await running;
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    expect(children(shell).filter((pid) => before.includes(pid))).toEqual([]);
    // The message was not answered, so it runs again.
    const { traces } = await shell.ask<{ traces: Trace[] }>("/traces?limit=1");
    await cancel(traces[0]?.id ?? "");
  });

  it("RUN-01 a hundred cancelled runs leave no process", async () => {
    await start({ tier: "cli-b", maxConcurrent: 4 });
    const kinds: (string | undefined)[] = [];
    for (let round = 0; round < 25; round++) {
      const results = await Promise.all([1, 2, 3, 4].map((chat) => cancelled(`chat-${chat}`)));
      kinds.push(...results.map(({ errorKind }) => errorKind));
    }
    expect(kinds).toEqual(Array.from({ length: 100 }, () => "cancelled"));
    await expect.poll(() => children(shell)).toEqual([]);
  }, 300_000);
});

/** Living processes that a daemon of this folder started: they carry its mark, and work below the folder. */
function children(shell: Shell): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
        return (
          environment.some((line) => line.startsWith("SVC_RUN=")) &&
          environment.some((line) => line.endsWith(`=${shell.folder}`) || line.includes(`=${shell.folder}/`))
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}
