import { expect, it } from "vitest";
import { echoConfig, openShell } from "../kit/svc.ts";

it("CFG-24 a file without 'plugins' is a whole daemon: the first command-line engine and the eight built-in actions are there", async () => {
  const shell = await openShell();
  const { agents, ...rest } = echoConfig();
  shell.write({ ...rest, agents: { ...agents, coder: { name: "Coder", workspace: "./coder", tier: "cli-a" } } });
  expect((await shell.svc("daemon", "start")).code).toBe(0);
  try {
    const { plugins } = await shell.json<{ plugins: { id: string; state: string; source: string }[] }>("daemon", "status", "--plugins");
    expect(plugins.find(({ id }) => id === "tier-cli-a")).toMatchObject({ state: "running", source: "first-party" });
    const builtIn = plugins.filter(({ id, state }) => id.startsWith("action-") && state === "running").map(({ id }) => id);
    expect(builtIn.sort()).toEqual([
      "action-agent-call",
      "action-extract-structured",
      "action-file-read-lines",
      "action-file-write-jsonl",
      "action-http-fetch",
      "action-http-post",
      "action-mesh-delegate",
      "action-rag-lexical",
    ]);
    expect((await shell.svc("agent", "capability", "coder")).out).toContain("Claude Code (cli-a)");
  } finally {
    await shell.svc("daemon", "stop");
  }
});
