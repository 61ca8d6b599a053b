import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startDaemon } from "./daemon.mjs";
import { ROOT, startNode } from "./process.mjs";
import { median, ratioAtMost } from "./rounds.mjs";

const PROGRAM = join(ROOT, `test/peers/node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`);
/** Turns of a round after the one that starts its process. */
const WARM = 8;
const ARGS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages", "--strict-mcp-config"];

/** The program as a script would drive it: words in as a line, messages out until the result. */
function openProgram(cwd, env) {
  const child = spawn(PROGRAM, ARGS, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
  let answered;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    if (message.type === "result") answered(message);
  });
  return {
    async turn(text) {
      const result = new Promise((resolve) => {
        answered = resolve;
      });
      child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "text", text }] } })}\n`);
      const message = await result;
      if (message.is_error) throw new Error(message.result);
    },
    async end() {
      child.stdin.end();
      await once(child, "close");
    },
  };
}

const kept = new Agent({ keepAlive: true });

/** A task over a connection that stays. Not by `fetch`: that alone costs its caller 0.7 ms a call, which is no work of the daemon's. */
async function ask(port, chatId, text) {
  const body = JSON.stringify({ agent: "coder", message: text, context: { channel: "http", chatId } });
  const headers = { "content-type": "application/json", accept: "application/json", "content-length": Buffer.byteLength(body) };
  const sent = request({ host: "127.0.0.1", port, method: "POST", path: "/task", agent: kept, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  let said = "";
  for await (const chunk of response.setEncoding("utf8")) said += chunk;
  const { ok, reply, error } = JSON.parse(said);
  if (!ok || !reply.startsWith("ECHO")) throw new Error(error ?? reply);
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

export default {
  id: "P12",
  title: "a turn on a command-line engine",
  against: "a script that drives the same program against the same model server on loopback",
  lines: [
    { what: "turn on a warm process", unit: "ms", target: ratioAtMost(1.1) },
    { what: "turn that starts its process", unit: "ms", target: ratioAtMost(1.05) },
  ],
  skip: () => (existsSync(PROGRAM) ? undefined : "the engine is not installed; `npm run test:peers` installs it"),
  async open({ folder, quick }) {
    const model = await startNode(["--import", "jiti/register", join(import.meta.dirname, "floors/model.ts")], { cwd: ROOT });
    const workspace = join(folder, "w");
    await mkdir(workspace);
    const env = { PATH: process.env.PATH, HOME: folder, LANG: "C.UTF-8", ANTHROPIC_BASE_URL: model.facts.url, ANTHROPIC_API_KEY: "dummy-key" };
    const config = (port) => ({
      node: { id: "bench", name: "Bench", bind: `127.0.0.1:${port}` },
      agents: { coder: { name: "Coder", workspace: "./w", tier: "cli-a", billing: "api", persistentProcess: true, maxConcurrent: 4 } },
      tiers: { "cli-a": { command: PROGRAM } },
      // The processes of earlier rounds make room.
      processPool: { maxIdleSeconds: 5 },
      // The script tells the program nothing but the words; what layers of context make of a turn is the model's time, not ours.
      plugins: ["!feature-context-layered", "!feature-context-planner"],
    });
    const daemon = await startDaemon(folder, config, [], env);
    // One process of the program answers sooner than another, for as long as it lives: each round starts its own, on both sides.
    async function round(turn) {
      const cold = await timed(() => turn("hello there"));
      const warm = [];
      for (let at = 0; at < WARM; at += 1) warm.push(await timed(() => turn(`words ${at}`)));
      return [median(warm), cold];
    }
    let chats = 0;
    return {
      rounds: quick ? 4 : 16,
      async floor() {
        const began = performance.now();
        const program = openProgram(workspace, env);
        const started = performance.now() - began;
        const [warm, cold] = await round((text) => program.turn(text));
        await program.end();
        return [warm, started + cold];
      },
      ours() {
        chats += 1;
        return round((text) => ask(daemon.port, `chat-${chats}`, text));
      },
      async close() {
        kept.destroy();
        await daemon.stop();
        await model.stop();
      },
      note: () => "the model answers at once, so that only the program and what drives it count",
    };
  },
};
