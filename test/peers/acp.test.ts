import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { engineContract } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/tiers/acp/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, engineSubject, first, type Stage, type StageOptions } from "./stage.ts";

const api = { billing: "api" };

interface Subject {
  readonly name: string;
  readonly program: keyof typeof PROGRAMS;
  readonly config: StageOptions["config"];
  /** A tool call that writes `note.txt`; and such a one that the program must ask for under `default`, where it is another. */
  readonly writes: string;
  readonly asks?: string;
  readonly version: RegExp;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: "Gemini CLI",
    program: "gemini",
    config: (url) => ({
      command: PROGRAMS.gemini,
      args: ["--acp", "--skip-trust", "-m", "gemini-2.5-flash"],
      env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "dummy-key", GEMINI_CLI_NO_RELAUNCH: "true" },
      authMethod: "gemini-api-key",
    }),
    writes: 'CALL:write_file:{"file_path":"note.txt","content":"written"} now',
    version: /Gemini CLI 0\.61\.0; a session can be opened$/,
  },
  {
    name: "codex-acp",
    program: "codexAcp",
    config: (url) => ({
      command: PROGRAMS.codexAcp,
      args: ["-c", 'model_provider="loop"', "-c", `model_providers.loop={name="Loop",base_url="${url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`],
      env: { OPENAI_API_KEY: "dummy-key" },
    }),
    writes: 'CALL:exec_command:{"cmd":"printf written > note.txt"} now',
    asks: 'CALL:exec_command:{"cmd":"printf written > note.txt","sandbox_permissions":"require_escalated","justification":"because"} now',
    version: /Codex 0\.16\.0; a session can be opened$/,
  },
  {
    name: "claude-code-acp",
    program: "claudeAcp",
    config: (url) => ({ command: PROGRAMS.claudeAcp, env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-key" } }),
    writes: 'CALL:Write:{"file_path":"note.txt","content":"written"} now',
    version: /Claude Code 0\.16\.2; a session can be opened$/,
  },
];

describe.each(SUBJECTS)("acp on $name", ({ program, config, writes, asks = writes, version }) => {
  const skipped = missing(program);
  if (skipped) console.warn(`skipped: ${skipped}`);
  const start = () => createStage(plugin as never, { config, env: () => ({}) });

  describe.skipIf(skipped)("turns", () => {
    let stage: Stage;
    beforeEach(async () => {
      stage = await start();
    });
    afterEach(async () => {
      await stage.dispose();
      expect(stage.server.refusals, "requests that the real API would refuse").toEqual([]);
    });
    const asked = () => JSON.stringify(stage.server.requests.at(-1)?.body);

    it("streams an answer to the agent's words, and leaves nothing running", async () => {
      const events = await stage.run("hello there", { settings: api, system: "You are Dan, keeper of the gate." });
      expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
      expect(answerOf(events)).toContain("hello there");
      expect(first(events, "session")?.id).toMatch(/^[0-9a-f-]{36}$/);
      expect(asked()).toContain("You are Dan, keeper of the gate.");
      expect(stage.processes()).toEqual([]);
    });

    it("a call that the mode does not allow is a step with its reason, and does nothing", async () => {
      const events = await stage.run(asks, { settings: api });
      const refused = events.flatMap((event) => (event.type === "step" && event.step.error !== undefined ? [event.step.error] : []));
      expect(refused).toContain("permissionMode does not allow it");
      expect(existsSync(join(stage.workspace, "note.txt"))).toBe(false);
    });

    it("does it under bypassPermissions, and tells the step", async () => {
      const events = await stage.run(writes, { settings: { ...api, permissionMode: "bypassPermissions" } });
      expect(events.at(-1), JSON.stringify(events.at(-1))).toMatchObject({ type: "done" });
      expect(readFileSync(join(stage.workspace, "note.txt"), "utf8")).toBe("written");
      expect(events.filter((event) => event.type === "step" && event.step.phase === "end").length).toBeGreaterThan(0);
    });

    it("keeps the session in a warm process, and tells it nothing twice; goes on there after a request that the vendor refuses", async () => {
      const settings = { ...api, persistentProcess: true };
      const session = first(await stage.run("one", { settings, system: "You are Dan." }), "session")?.id as string;
      const kept = stage.processes();
      const again = await stage.run("two", { settings, system: "You are Dan.", session });
      expect(answerOf(again)).toContain("two");
      expect(answerOf(again)).not.toContain("You are Dan.");
      expect(stage.processes()).toEqual(kept);
      expect(kept.length).toBeGreaterThan(0);
      const failed = await stage.run("FAIL:400", { settings });
      expect(failed.at(-1)).toMatchObject({ type: "error", kind: "request" });
      expect(answerOf(await stage.run("hello again", { settings }))).toContain("hello again");
    });

    it("the probe names the program and opens a session, without a model call", async () => {
      const agent = { id: "ada", name: "ada", workspace: stage.workspace, tier: "acp", mentions: [], access: "private" as const, settings: api };
      expect(await stage.tier.probe?.(agent)).toMatchObject({ ok: true, detail: expect.stringMatching(version) });
      expect(stage.server.requests.filter(({ api: kind }) => kind !== "count" && kind !== "models")).toEqual([]);
    });
  });

  if (!skipped) engineContract({ describe, it }, async () => engineSubject(await start(), api));
});
