import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const PROGRAM = join(ROOT, "cli/bin/svc.cjs");
const MESH_TOKEN = "the-token-that-both-nodes-hold";
/** Far above what a refusal takes, far below the 20 minutes after which a turn without an answer is ended. */
const NO_STALL_MS = 120_000;

/**
 * An engine whose agents pass a message on: `<way> <node>/<agent> <way> <node>/<agent> ...`; one without a way is answered. The program that asks
 * is started without a word of the task that it works for.
 */
const ENGINE = `
const ASK = \`const [path, body] = process.argv.slice(1);
fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body }).then((answer) => answer.text()).then((text) => console.log(text));\`;
export default {
  kind: "tier", name: "engine", version: "1.0.0", svc: "*", capabilities: ["spawn", "health"],
  setup(ctx) {
    const commandOf = (way, target, message, self) => {
      const [node, agent] = target.split("/");
      const { host, port } = ctx.health().listens;
      const ask = (path, body) => ["env", ["-i", process.execPath, "-e", ASK, "http://" + host + ":" + port + path, JSON.stringify(body)]];
      const here = node === ctx.node.id;
      if (way === "http") return here ? ask("/task", { agent, message }) : ask("/mesh/task", { peer: node, agent, message });
      if (way === "tool") return ask("/agents/" + self + "/tools/" + (here ? "agent_call" : "mesh_delegate"), here ? { agentId: agent, message } : { peer: node, agent, message });
      return ["env", ["-i", "SVC_CONFIG=" + process.env.CONFIG, process.execPath, ${JSON.stringify(PROGRAM)}, "daemon", "send", agent, message, ...(here ? [] : ["--peer", node])]];
    };
    ctx.provide.tier({
      name: "engine",
      async *run(turn, { prompt }, signal) {
        const [way, target, ...rest] = turn.messages[0].text.split(" ");
        if (target === undefined) return yield* [{ type: "text", text: turn.agent.id + " has answered" }, { type: "done" }];
        const { stdout, stderr } = await ctx.spawn(...commandOf(way, target, rest.join(" ") || "end", turn.agent.id), { cwd: "/", taskId: turn.id, signal }).ended;
        yield { type: "text", text: stdout + stderr };
        yield { type: "done" };
      },
    });
  },
};
`;

let folder: string;
const shells: Shell[] = [];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-mesh-loop-"));
  for (const id of ["n1", "n2"]) {
    const own = mkdtempSync(join(folder, id));
    const shell = await openShell({ CONFIG: join(own, "svc.json"), MESH_TOKEN }, own);
    const agent = (name: string) => ({ name, workspace: `./${name}`, tier: "engine", maxConcurrent: 1 });
    writeFileSync(join(own, "engine.mjs"), ENGINE);
    shell.write({
      node: { id, name: id, bind: "127.0.0.1:0", defaultAgent: "a" },
      plugins: ["./engine.mjs"],
      agents: { a: agent("a"), b: agent("b"), c: agent("c") },
    });
    shells.push(shell);
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  }
  // Each has the port that was free, and then hears of the other.
  const [n1, n2] = shells as [Shell, Shell];
  const known = async (shell: Shell, name: string, other: Shell) =>
    expect(await lines(shell, { MESH_TOKEN }).svc("mesh", "add", name, addressOf(other), "--token-env", "MESH_TOKEN")).toMatchObject({ code: 0 });
  await known(n1, "n2", n2);
  await known(n2, "n1", n1);
}, 120_000);
afterAll(async () => {
  for (const shell of shells) await shell.end();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}, 60_000);

function addressOf({ folder: own }: Shell): string {
  const { host, port } = JSON.parse(readFileSync(join(own, ".svc/daemon.json"), "utf8")) as { host: string; port: number };
  return `http://${host}:${port}`;
}

it.each([
  ["http", "n2/b", "http", "n1/a", "n1/a -> b -> n1/a"],
  ["tool", "n2/b", "tool", "n1/a", "n1/a -> b -> n1/a"],
  ["cli", "n2/b", "cli", "n1/a", "n1/a -> b -> n1/a"],
  // On the way back to a daemon it is its own agent that asks the first one, whose only slot waits.
  ["http", "n2/b", "http", "n1/c", "tool", "n1/a", "a -> n2/b -> c -> a"],
  ["tool", "n2/b", "http", "n2/c", "http", "n2/b", "b -> c -> b"],
])("RUN-10 MESH-10 a loop over two daemons is refused in words: %s %s %s %s %s", { timeout: NO_STALL_MS }, async (...words) => {
  const chain = words.pop() as string;
  const { out, err, code } = await lines(shells[0]!).svc("daemon", "send", "a", words.join(" "), "--chat", words.join("-"));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain(chain);
  expect(out).toMatch(/It is not asked again|it waits for this answer itself/);
});

it("RUN-10 agents of one name on two machines are two, and answer each other", { timeout: NO_STALL_MS }, async () => {
  const { out } = await lines(shells[0]!).svc("daemon", "send", "a", "tool n2/b http n2/c tool n1/c", "--chat", "straight");
  expect(out).toContain("c has answered");
});

it("an agent is told of the mesh as it is: the peer with its agents, and as down once it is", { timeout: NO_STALL_MS }, async ({ onTestFailed }) => {
  const [near, far] = shells as [Shell, Shell];
  // Another try finds it as this one did.
  onTestFailed(async () => void (await far.svc("daemon", "start")));
  const state = async () => (await lines(near).json<{ name: string; state: string }[]>("mesh", "list")).map((peer) => peer.state);
  await lines(near).svc("mesh", "test", "n2");
  expect(await state()).toEqual(["up"]);
  await far.end();
  await lines(near).svc("mesh", "test", "n2");
  expect(await state()).toEqual(["down"]);
});
