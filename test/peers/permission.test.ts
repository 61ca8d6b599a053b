import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval, Approvals, Plugin, TierEvent } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import approvalsPlugin from "../../plugins/features/approvals/index.ts";
import acp from "../../plugins/tiers/acp/index.ts";
import cliA from "../../plugins/tiers/cli-a/index.ts";
import cliB from "../../plugins/tiers/cli-b/index.ts";
import cliC from "../../plugins/tiers/cli-c/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, first, type RunOptions, type Stage, type StageOptions } from "./stage.ts";

interface Subject {
  readonly name: string;
  readonly plugin: Plugin<never>;
  readonly program: keyof typeof PROGRAMS;
  readonly options: Pick<StageOptions, "config" | "env">;
  /** A call that writes `words` to `note.txt`, and that the mode `default` leaves open. */
  readonly writes: (words: string) => string;
  readonly model?: string;
}

const json = JSON.stringify;
const escalated = (words: string) =>
  `CALL:exec_command:${json({ cmd: `printf '${words}' > note.txt`, sandbox_permissions: "require_escalated", justification: "because" })} now`;
const geminiWrites = (words: string) => `CALL:write_file:${json({ file_path: "note.txt", content: words })} now`;
const claudeWrites = (words: string) => `CALL:Write:${json({ file_path: "note.txt", content: words })} now`;

const SUBJECTS: readonly Subject[] = [
  {
    name: "Claude Code in cli-a",
    plugin: cliA as Plugin<never>,
    program: "claude",
    options: { config: { command: PROGRAMS.claude }, env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-key" }) },
    writes: claudeWrites,
  },
  {
    name: "Codex in cli-b",
    plugin: cliB as Plugin<never>,
    program: "codex",
    options: { config: { command: PROGRAMS.codex }, env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "dummy-key" }) },
    writes: escalated,
  },
  {
    name: "Codex's patches in cli-b",
    plugin: cliB as Plugin<never>,
    program: "codex",
    options: { config: { command: PROGRAMS.codex }, env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "dummy-key" }) },
    writes: (words) =>
      `CALL:exec_command:${json({ cmd: `apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: note.txt\n+${words}\n*** End Patch\nEOF\n` })} now`,
  },
  {
    name: "Gemini CLI in cli-c",
    plugin: cliC as Plugin<never>,
    program: "gemini",
    options: { config: { command: PROGRAMS.gemini }, env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "dummy-key" }) },
    writes: geminiWrites,
    model: "gemini-2.5-flash",
  },
  {
    name: "Gemini CLI in acp",
    plugin: acp as Plugin<never>,
    program: "gemini",
    options: {
      config: (url) => ({
        command: PROGRAMS.gemini,
        args: ["--acp", "--skip-trust", "-m", "gemini-2.5-flash"],
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "dummy-key", GEMINI_CLI_NO_RELAUNCH: "true" },
        authMethod: "gemini-api-key",
      }),
      env: () => ({}),
    },
    writes: geminiWrites,
  },
  {
    name: "claude-code-acp in acp",
    plugin: acp as Plugin<never>,
    program: "claudeAcp",
    options: { config: (url) => ({ command: PROGRAMS.claudeAcp, env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-key" } }), env: () => ({}) },
    writes: claudeWrites,
  },
];

const SETTINGS = {
  defaultExpiryDays: 3,
  maxExpiryDays: 30,
  laterHours: 24,
  permissionMinutes: 5,
  notifyAgent: true,
  withheld: true,
  allowFrom: [],
  digest: { enabled: false, time: "09:00" },
};

const clocks: NodeJS.Timeout[] = [];

/** The real service on a store in memory, with a clock. */
async function startApprovals(settings: Partial<typeof SETTINGS> = {}): Promise<Approvals> {
  const ctx = createFakeContext(approvalsPlugin, { config: { ...SETTINGS, ...settings } });
  await (await approvalsPlugin.setup(ctx))?.start?.();
  const { jobs } = ctx.registered;
  const began = Date.now();
  clocks.push(
    setInterval(() => {
      for (const job of jobs.filter(({ kind, ms = 0 }) => kind === "after" && Date.now() - began > ms)) {
        jobs.splice(jobs.indexOf(job), 1);
        void job.run(new Date());
      }
    }, 100),
  );
  return ctx.registered.services[0]?.api as Approvals;
}

async function firstOpen(approvals: Approvals): Promise<Approval> {
  for (;;) {
    const [open] = await approvals.list({ open: true });
    if (open !== undefined) return open;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const stepsOf = (events: readonly TierEvent[]) => events.flatMap((event) => (event.type === "step" && event.step.name === "permission" ? [event.step] : []));

for (const { name, plugin, program, options, writes, model } of SUBJECTS) {
  const skipped = missing(program);
  if (skipped) console.warn(`skipped: ${skipped}`);

  describe.skipIf(skipped)(`K28 ${name}`, () => {
    let at: Stage;
    const services: { approvals?: Approvals } = {};
    const note = () => join(at.workspace, "note.txt");
    beforeAll(async () => {
      at = await createStage(plugin, { ...options, services, limits: { maxIdleSeconds: 600, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 } });
      if (program !== "gemini") return;
      mkdirSync(join(at.home, ".gemini"));
      const general = { maxAttempts: 2, retryFetchErrors: false, enableAutoUpdate: false };
      writeFileSync(join(at.home, ".gemini/settings.json"), json({ general, privacy: { usageStatisticsEnabled: false } }));
    });
    afterEach(() => {
      for (const clock of clocks.splice(0)) clearInterval(clock);
      delete services.approvals;
      rmSync(note(), { force: true });
    });
    afterAll(() => at.dispose());

    const settings = { billing: "api", permissionQuestions: "ask" };
    const given = model === undefined ? {} : { model };
    /** A turn in a program of its own. */
    const alone = (prompt: string, more: RunOptions = {}) => at.run(prompt, { settings, ...given, conversation: "ada:test:-:alone", ...more });
    let session: string | undefined;
    /** A turn in the program that stays; one of Claude Code serves a single session. */
    async function kept(prompt: string, own: Readonly<Record<string, unknown>> = settings): Promise<TierEvent[]> {
      const events = await at.run(prompt, { settings: { ...own, persistentProcess: true }, ...given, ...(session === undefined ? {} : { session }) });
      if (program === "claude") session = first(events, "session")?.id;
      return events;
    }

    it("asks a person with all of the call while the run waits, and makes it once it is allowed", async () => {
      const approvals = await startApprovals();
      services.approvals = approvals;
      const running = alone(writes("allowed words"));
      const asked = await firstOpen(approvals);
      expect(asked).toMatchObject({ kind: "permission", agent: "ada", requestedBy: "agent ada", title: expect.stringContaining("agent ada wants to use") });
      expect(asked.detail).toContain("allowed words");
      expect(existsSync(note())).toBe(false);
      await approvals.decide(asked.id, "allow", { by: "Ann", surface: "test" });
      const events = await running;
      expect(readFileSync(note(), "utf8").trim()).toBe("allowed words");
      expect(events.filter(({ type }) => type === "waiting")).toMatchObject([{ reason: expect.stringContaining(asked.id), retryAfterMs: expect.any(Number) }]);
      expect(stepsOf(events)).toMatchObject([{ output: "approved by Ann on test" }]);
      expect(events.at(-1)?.type).toBe("done");
    });

    it("does not make a call that a person denies, or that nobody answers in time", async () => {
      const approvals = await startApprovals();
      services.approvals = approvals;
      const running = kept(writes("denied words"));
      await approvals.decide((await firstOpen(approvals)).id, "deny", { by: "Ann", surface: "test" });
      const events = await running;
      expect(existsSync(note())).toBe(false);
      expect(stepsOf(events)).toMatchObject([{ error: "rejected by Ann on test" }]);
      services.approvals = await startApprovals({ permissionMinutes: 0.02 });
      expect(stepsOf(await kept(writes("late words")))).toMatchObject([{ error: "nobody answered in time" }]);
      expect(existsSync(note())).toBe(false);
    });

    it("a stopped run withdraws its question; without the service the call is refused, and without the setting nobody is asked", async () => {
      const approvals = await startApprovals();
      services.approvals = approvals;
      const abort = new AbortController();
      const running = alone(writes("stopped words"), { signal: abort.signal });
      const { id } = await firstOpen(approvals);
      abort.abort();
      await running;
      expect(await approvals.wait(id)).toMatchObject({ state: "withdrawn", reason: "its run was stopped" });
      const { permissionQuestions: _, ...silent } = settings;
      const events = await kept(writes("unasked words"), silent);
      expect([await approvals.list({ open: true }), events.filter(({ type }) => type === "waiting")]).toEqual([[], []]);
      expect(existsSync(note())).toBe(false);
      delete services.approvals;
      const refused = await kept(writes("refused words"));
      expect(existsSync(note()), answerOf(refused)).toBe(false);
    });
  });
}
