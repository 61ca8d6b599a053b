import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Trace } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import { type ModelServer, startModelServer } from "./model-server.ts";
import { missing, PROGRAMS } from "./programs.ts";

const skipped = missing("claude") ?? missing("codex");
if (skipped) console.warn(`skipped: ${skipped}`);

/** Two agents on two real programs, each with the tools server of the daemon. */
describe.skipIf(skipped)("agents on real programs", () => {
  let server: ModelServer;
  let shell: Shell;

  beforeEach(async () => {
    server = await startModelServer();
    shell = await openShell({
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: "dummy-key",
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: "dummy-key",
    });
    for (const folder of ["w", "v", "claude", "codex", "bin"]) mkdirSync(join(shell.folder, folder), { recursive: true });
    writeFileSync(join(shell.folder, "bin/svc"), `#!/bin/sh\nexec '${process.execPath}' '${ROOT}/cli/bin/svc.cjs' "$@"\n`, { mode: 0o755 });
    const agent = (id: string, tier: string, workspace: string, more: object = {}) => ({
      name: id,
      workspace,
      tier,
      billing: "api",
      mcp: { svc: { command: join(shell.folder, "bin/svc"), args: ["mcp", "--agent", id] } },
      ...more,
    });
    shell.write({
      node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "ada" },
      // A model that the second program does not know gets the tools one by one.
      agents: { ada: agent("ada", "cli-a", "./w"), bob: agent("bob", "cli-b", "./v", { model: "fake-7" }) },
      tiers: {
        "cli-a": { command: PROGRAMS.claude, env: { CLAUDE_CONFIG_DIR: join(shell.folder, "claude") } },
        "cli-b": { command: PROGRAMS.codex, env: { CODEX_HOME: join(shell.folder, "codex") } },
      },
    });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  });
  afterEach(async () => {
    await shell.svc("daemon", "stop");
    expect(server.refusals, "requests that the real API would refuse").toEqual([]);
    await server.close();
  });

  const fromAda = (message: string) => `CALL:mcp__svc__agent_call:${JSON.stringify({ agentId: "bob", message })}`;
  const fromBob = (message: string) => `CALL:agent_call:${JSON.stringify({ agentId: "ada", message })}`;
  const send = async (agent: string, message: string) => await shell.json<{ reply: string; taskId: string }>("daemon", "send", agent, message);

  it("call each other's agent through svc mcp and get the answer", async () => {
    const { reply, taskId } = await send("ada", fromAda("hello bob"));
    expect(reply).toMatch(/"agentId":"bob",.*"reply":"ECHO: .*hello bob"/s);
    // The model says its whole context back: it is told how to ask the others.
    expect(reply).toContain("ask one with the tool agent_call");
    const traces = await shell.json<Trace[]>("trace", "list");
    const asked = traces.find(({ agent }) => agent === "bob");
    expect(asked).toMatchObject({ entry: "agent-call", rootId: (await shell.json<Trace>("trace", "show", taskId)).rootId });
    expect((await send("bob", fromBob("hello ada"))).reply).toMatch(/"agentId":"ada",.*ECHO: .*hello ada/s);
  });

  it("RUN-10 a loop of two ends at once with words that name the chain", async () => {
    const { reply } = await send("ada", fromAda(fromBob("and back")));
    expect(reply).toContain("Agent ada is not asked: it waits for this answer itself (ada -> bob -> ada)");
    const traces = await shell.json<Trace[]>("trace", "list");
    expect(traces.map(({ agent, errorKind }) => [agent, errorKind])).toEqual(expect.arrayContaining([["ada", "refused"]]));
  });
});
