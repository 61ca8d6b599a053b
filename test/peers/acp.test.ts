import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { engineContract } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import plugin from "../../plugins/tiers/acp/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, engineSubject, first, type Stage, type StageOptions } from "./stage.ts";

const api = { billing: "api" };
const kept = { ...api, persistentProcess: true };

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
    beforeAll(async () => {
      stage = await start();
    });
    afterAll(() => stage.dispose());
    beforeEach(() => stage.server.clear());
    afterEach(() => {
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

    it("the probe names the program and opens a session, without a model call", async () => {
      const agent = { id: "ada", name: "ada", workspace: stage.workspace, tier: "acp", mentions: [], access: "private" as const, settings: api };
      expect(await stage.tier.probe?.(agent)).toMatchObject({ ok: true, detail: expect.stringMatching(version) });
      expect(stage.server.requests.filter(({ api: kind }) => kind !== "count" && kind !== "models")).toEqual([]);
    });

    // From here on in one program that stays.
    let session: string | undefined;
    it("does it under bypassPermissions, and tells the step", async () => {
      const events = await stage.run(writes, { settings: { ...kept, permissionMode: "bypassPermissions" } });
      ({ id: session } = first(events, "session") ?? {});
      expect(events.at(-1), JSON.stringify(events.at(-1))).toMatchObject({ type: "done" });
      expect(readFileSync(join(stage.workspace, "note.txt"), "utf8")).toBe("written");
      expect(events.filter((event) => event.type === "step" && event.step.phase === "end").length).toBeGreaterThan(0);
    });

    it("a call that the mode does not allow is a step with its reason, and does nothing", async () => {
      rmSync(join(stage.workspace, "note.txt"), { force: true });
      const events = await stage.run(asks, { settings: kept, ...(session === undefined ? {} : { session }) });
      const refused = events.flatMap((event) => (event.type === "step" && event.step.error !== undefined ? [event.step.error] : []));
      expect(refused).toContain("permissionMode does not allow it");
      expect(existsSync(join(stage.workspace, "note.txt"))).toBe(false);
    });

    it("keeps the session in a warm process, and tells it nothing twice; goes on there after a request that the vendor refuses", async () => {
      const session = first(await stage.run("one", { settings: kept, system: "You are Dan." }), "session")?.id as string;
      const before = stage.processes();
      const again = await stage.run("two", { settings: kept, system: "You are Dan.", session });
      expect(answerOf(again)).toContain("two");
      expect(answerOf(again)).not.toContain("You are Dan.");
      // The engine's own short-lived helpers may be among those before; none may have come since.
      await vi.waitFor(() => expect(before).toEqual(expect.arrayContaining(stage.processes())), { timeout: 10_000, interval: 50 });
      expect(stage.processes().length).toBeGreaterThan(0);
      const failed = await stage.run("FAIL:400", { settings: kept, session });
      expect(failed.at(-1)).toMatchObject({ type: "error", kind: "request" });
      expect(answerOf(await stage.run("hello again", { settings: kept }))).toContain("hello again");
    });
  });

  if (!skipped) engineContract({ describe, it }, async () => engineSubject(await start(), api));
});
