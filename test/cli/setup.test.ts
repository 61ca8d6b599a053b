import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { findEngines, offersOf } from "@svc/sdk/engine";
import { afterEach, describe, expect, it, vi } from "vitest";
import { firstParty } from "../../cli/catalog.ts";
import { openQuestions } from "../../cli/setup/questions.ts";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const modelServers = offersOf(firstParty().map(({ manifest }) => manifest)).filter(({ tier }) => tier === "sdk");
const shells: Shell[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  for (const server of servers.splice(0)) server.close();
});

/** Nothing of this machine: no programs but those given, no keys, no model servers that a developer runs. */
async function bareMachine(
  programs: Readonly<Record<string, string>> = {},
  env: Record<string, string> = {},
): Promise<Shell & { env: Record<string, string> }> {
  const path = await temporaryFolder();
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(path, name), script);
    await chmod(join(path, name), 0o755);
  }
  const silent = await modelServer();
  const whole = {
    PATH: path,
    ANTHROPIC_API_KEY: "",
    OPENAI_API_KEY: "",
    GEMINI_API_KEY: "",
    OLLAMA_HOST: `127.0.0.1:${silent.port}`,
    ...env,
  };
  const shell = { ...(await openShell(whole)), env: whole };
  shells.push(shell);
  return shell;
}

/** A model server that holds these models and answers as Ollama does; without models nobody takes it for one. */
async function modelServer(...models: string[]): Promise<{ port: number; asked: { model: unknown; key: string | undefined }[] }> {
  const asked: { model: unknown; key: string | undefined }[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.method === "GET" && request.url === "/api/tags") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ models: models.map((name) => ({ name, model: name, size: 1 })) }));
    } else if (request.method === "POST" && request.url === "/v1/chat/completions") {
      const { model, stream } = JSON.parse(text) as { model: string; stream?: boolean };
      asked.push({ model, key: request.headers.authorization });
      if (!models.includes(model) || stream !== true) {
        response.writeHead(404, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { message: `model "${model}" not found, try pulling it first`, type: "api_error" } }));
        return;
      }
      const piece = (delta: object, finish: string | null) =>
        `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
      response.setHeader("content-type", "text/event-stream");
      response.write(piece({ role: "assistant", content: "Good " }, null));
      response.write(piece({ content: "morning." }, null));
      response.end(`${piece({}, "stop")}data: [DONE]\n\n`);
    } else response.writeHead(404).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, asked };
}

/** Runs a line on such a machine in the process that stays, where no daemon is to start. */
const inLines = (shell: Shell & { env: Record<string, string> }) => lines(shell, shell.env).svc;

const agentOf = (shell: Shell, id: string) => (shell.config().agents as Record<string, object>)[id];

describe("what is proposed", () => {
  it("a program on PATH comes before a key; without either the built-in engine is left", async () => {
    const [bare, keyed, both] = await Promise.all([
      bareMachine(),
      bareMachine({}, { ANTHROPIC_API_KEY: "sk-canary-1" }),
      bareMachine({ codex: "#!/bin/sh\n" }, { OPENAI_API_KEY: "sk-canary-2" }),
    ]);
    const setups: Said[] = [];
    for (const shell of [bare, keyed]) setups.push(await inLines(shell)("setup", "--yes", "--no-start"));
    setups.push(await both.svc("setup", "--yes", "--no-start"));
    expect(setups.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(agentOf(bare, "assistant")).toEqual({ name: "Assistant", workspace: "./workspace", tier: "local" });
    expect(agentOf(keyed, "assistant")).toMatchObject({ tier: "sdk", provider: "anthropic" });
    expect(keyed.config().providers).toEqual({ anthropic: { apiKey: "${ANTHROPIC_API_KEY}" } });
    expect(agentOf(both, "assistant")).toEqual({ name: "Assistant", workspace: "./workspace", tier: "cli-b" });
    expect(setups[2]?.err).toMatch(/Codex \(.*\/codex\)\n {2}Codex \(tier cli-b\), paid by OPENAI_API_KEY\n {2}OpenAI API \(OPENAI_API_KEY is set\)/);
    for (const { out, err } of setups) expect(out + err).not.toContain("canary");
    for (const shell of [bare, keyed, both]) {
      expect((await inLines(shell)("config", "check")).code).toBe(0);
      expect(existsSync(join(shell.folder, ".svc/daemon.json"))).toBe(false);
    }
  });

  it("a file that cannot be run is no program, and a key may stand in .env", async () => {
    const shell = await bareMachine({ claude: "#!/bin/sh\n" });
    await chmod(join(shell.env.PATH as string, "claude"), 0o644);
    await mkdir(join(shell.env.PATH as string, "gemini"));
    // Even an empty variable would win over the file's: this one is taken out.
    const inFile = await openShell({ ...shell.env, OPENAI_API_KEY: undefined } as unknown as Record<string, string>);
    await writeFile(join(inFile.folder, ".env"), "OPENAI_API_KEY=sk-canary-3\n");
    const { err } = await inLines(shell)("setup", "--yes", "--no-start");
    const [found, installable] = err.split("Can be installed:\n");
    expect(found).not.toMatch(/Claude|Gemini/);
    expect(installable).toContain("Claude Code (tier cli-a): npm install -g @anthropic-ai/claude-code");
    await inFile.svc("setup", "--yes", "--no-start");
    expect(agentOf(inFile, "assistant")).toMatchObject({ tier: "sdk", provider: "openai", model: "gpt-4.1-mini" });
  });

  it("flags win over what was found, also for a new agent beside others; a wrong one changes nothing", async () => {
    const shell = await bareMachine({ claude: "#!/bin/sh\n" }, { OPENAI_API_KEY: "sk-canary-4" });
    shell.write(echoConfig());
    const setup = await lines(shell, shell.env).json("setup", "--yes", "--no-start", "--agent", "second", "--tier", "orchestrator", "--model", "gpt-9");
    expect(setup).toMatchObject({ agent: "second", tier: "orchestrator", provider: "openai", model: "gpt-9" });
    expect(agentOf(shell, "second")).toEqual({ name: "second", workspace: "./workspaces/second", tier: "orchestrator", provider: "openai", model: "gpt-9" });
    expect(agentOf(shell, "echo")).toEqual(echoConfig().agents.echo);
    const before = await readFile(join(shell.folder, "svc.json"), "utf8");
    expect((await inLines(shell)("setup", "--yes", "--no-start", "--tier", "no-such-tier")).code).toBe(78);
    expect((await inLines(shell)("setup", "--yes", "--no-start", "--agent", "Not An Id")).code).toBe(2);
    expect(await readFile(join(shell.folder, "svc.json"), "utf8")).toBe(before);
  });

  it("an agent that runs on an engine of its operator's choice keeps it", async () => {
    const shell = await bareMachine({ claude: "#!/bin/sh\n" }, { OPENAI_API_KEY: "sk-canary-5" });
    shell.write(echoConfig({ tier: "sdk", provider: "openai", model: "mine" }, { providers: { openai: { apiKey: "${OPENAI_API_KEY}" } } }));
    const before = shell.config();
    expect((await inLines(shell)("setup", "--yes", "--no-start")).code).toBe(0);
    expect(shell.config()).toEqual(before);
  });
});

describe("from nothing to an answer", () => {
  it("finds a model server on this machine, starts the daemon and shows what the model says", async () => {
    const { port, asked } = await modelServer("nomic-embed-text:latest", "tiny:1b", "large:70b");
    const shell = await bareMachine({}, { OLLAMA_HOST: `http://localhost:${port}` });
    shell.write({ node: { id: "n", name: "N", bind: "127.0.0.1:0" } });
    const setup = await shell.svc("setup", "--yes");
    expect(setup.err).toContain(`Ollama on 127.0.0.1:${port} (2 models)`);
    expect(setup).toMatchObject({ code: 0, out: "assistant: Good morning.\n" });
    expect(asked).toEqual([{ model: "tiny:1b", key: undefined }]);
    expect(shell.config()).toMatchObject({
      providers: { ollama: { endpoint: `http://127.0.0.1:${port}` } },
      agents: { assistant: { tier: "sdk", provider: "ollama", model: "tiny:1b" } },
    });

    // Again, on the running daemon: a model waits for a restart, which is done.
    const pid = shell.pid();
    expect(await shell.json("setup", "--yes", "--model", "large:70b")).toMatchObject({ ok: true, reply: "Good morning.", model: "large:70b" });
    expect(asked.at(-1)).toEqual({ model: "large:70b", key: undefined });
    expect(shell.pid()).not.toBe(pid);
  });

  it("ENG-9 OPR-m20 goes on to the next engine when one does not answer, says why, and ends with an answer", async () => {
    const { port } = await modelServer("tiny:1b");
    const codex = "#!/bin/sh\necho 'not signed in' >&2\nexit 1\n";
    const shell = await bareMachine({ codex }, { OLLAMA_HOST: `http://localhost:${port}` });
    shell.write(echoConfig());
    const setup = await shell.svc("setup", "--yes", "--agent", "helper");
    expect(setup).toMatchObject({ code: 0, out: "helper: Good morning.\n" });
    expect(setup.err).toMatch(/Agent helper does not answer: .+\nNext: sign in with: codex login; then again: svc setup/);
    expect(agentOf(shell, "helper")).toMatchObject({ tier: "sdk", provider: "ollama", model: "tiny:1b" });
    expect(agentOf(shell, "echo")).toEqual(echoConfig().agents.echo);
  });

  it("ENG-9 a machine where no engine answers ends on the built-in one", async () => {
    const shell = await bareMachine({ codex: "#!/bin/sh\nexit 1\n" });
    shell.write({ node: { id: "n", name: "N", bind: "127.0.0.1:0" } });
    const setup = await shell.json<{ ok: boolean; tier: string; failures: { engine: string }[] }>("setup", "--yes");
    expect(setup).toMatchObject({ ok: true, tier: "local", failures: [{ engine: expect.stringContaining("Codex") }] });
  });

  it("ENG-9 OPR-m20 a tier that was named and does not answer is taken back", async () => {
    const shell = await bareMachine({ codex: "#!/bin/sh\nexit 1\n" });
    shell.write(echoConfig());
    const before = await readFile(join(shell.folder, "svc.json"), "utf8");
    const setup = await shell.svc("setup", "--yes", "--tier", "cli-b");
    expect(setup).toMatchObject({ code: 1, err: expect.stringContaining("svc.json is as it was before") });
    expect(await readFile(join(shell.folder, "svc.json"), "utf8")).toBe(before);
  });

  it("asks this machine alone, whatever OLLAMA_HOST says and wherever an answer leads", async () => {
    const elsewhere = await modelServer("other:1b");
    const leading = createServer((_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${elsewhere.port}/api/tags` }).end());
    servers.push(leading);
    await new Promise<void>((resolve) => leading.listen(0, "127.0.0.1", resolve));
    const { port } = leading.address() as AddressInfo;
    const asked = vi.spyOn(globalThis, "fetch");
    try {
      const foreign = [
        "192.0.2.1:11434",
        "http://models.example:80",
        "127.0.0.1.models.example:1",
        "localhost:1@models.example:2",
        "https://[2001:db8::1]:1",
        "x",
      ];
      for (const OLLAMA_HOST of foreign) await findEngines({ OLLAMA_HOST }, modelServers);
      const hosts = asked.mock.calls.map(([url]) => new URL(String(url)).hostname);
      expect(hosts).toHaveLength(foreign.length * 3);
      expect(new Set(hosts)).toEqual(new Set(["127.0.0.1"]));
      const found = await findEngines({ OLLAMA_HOST: `127.0.0.1:${port}` }, modelServers);
      expect(found.filter(({ provider }) => provider?.name === "ollama")).toEqual([]);
      const direct = await findEngines({ OLLAMA_HOST: `127.0.0.1:${elsewhere.port}` }, modelServers);
      expect(direct.find(({ provider }) => provider?.name === "ollama")?.models).toEqual(["other:1b"]);
    } finally {
      asked.mockRestore();
    }
  });
});

describe("questions", () => {
  it("without a terminal and without --yes nothing is asked and nothing written", async () => {
    const shell = await bareMachine();
    expect(await shell.svc("setup")).toMatchObject({ code: 2, err: expect.stringContaining("svc setup --yes") });
    expect(existsSync(join(shell.folder, "svc.json"))).toBe(false);
  });

  it("take the proposal for an empty answer, ask again for one that is no choice, and end with the input", async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    let shown = "";
    output.on("data", (chunk) => {
      shown += chunk;
    });
    const questions = openQuestions(input, output);
    // All at once, as from a pipe.
    input.write("\n7\nx\n2\nmain\n\nno\n");
    expect(await questions.choose("Which?", ["one", "two"])).toBe(0);
    expect(await questions.choose("Which?", ["one", "two"])).toBe(1);
    expect(await questions.text("Name?", "assistant")).toBe("main");
    expect(await questions.agree("Start?")).toBe(true);
    expect(await questions.agree("Start?")).toBe(false);
    input.end();
    await expect(questions.agree("More?")).rejects.toMatchObject({ code: "SVC_CLI_USAGE" });
    expect(shown).toContain("  1  one\n  2  two\n");
    questions.close();
  });

  // util-linux's `script` lends the program a terminal.
  it.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/script"))("on a terminal: which agent, which engine, whether to start", async () => {
    const shell = await bareMachine({ claude: "#!/bin/sh\n" }, { ANTHROPIC_API_KEY: "sk-canary-6" });
    const command = `'${process.execPath}' '${join(ROOT, "cli/bin/svc.cjs")}' setup`;
    const child = spawn("/usr/bin/script", ["-qec", command, "/dev/null"], {
      cwd: shell.folder,
      env: { ...process.env, ...shell.env, PATH: `${shell.env.PATH}:${dirname(process.execPath)}:/usr/bin:/bin`, SVC_CONFIG: "", SHELL: "/bin/sh" },
    });
    let shown = "";
    const answers = [
      [/Which agent\?.*: $/, "main"],
      [/1 to \d+ \[1\]: $/, "3"],
      [/Start it\?.*: $/, "n"],
    ] as const;
    let next = 0;
    child.stdout.on("data", (chunk) => {
      shown += chunk;
      const [question, answer] = answers[next] ?? [/(?!)/, ""];
      if (!question.test(shown.replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, ""))) return;
      next += 1;
      child.stdin.write(`${answer}\r`);
    });
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    expect({ code, next }, shown).toEqual({ code: 0, next: 3 });
    expect(agentOf(shell, "main")).toMatchObject({ tier: "sdk", provider: "anthropic" });
    expect(shown).toContain("Next: svc daemon start");
    expect(shown).not.toContain("canary");
  });
});
