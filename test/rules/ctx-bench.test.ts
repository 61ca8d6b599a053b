import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { smallModel } from "../kit/small-model.ts";
import { openShell } from "../kit/svc.ts";

interface Report {
  readonly turns: number;
  readonly plannerFallbacks: number;
  readonly layered: readonly { readonly sent: number; readonly reads: number; readonly resumed: boolean; readonly strategy: string }[];
  readonly planner: Report["layered"];
}

const transcript = JSON.stringify({
  messages: Array.from({ length: 6 }, (_, turn) => [
    { role: "user", text: `Question ${turn}` },
    { role: "assistant", content: `Answer ${turn}. ${"word ".repeat(400)}` },
  ]).flat(),
});

async function shellWith(text: string, env: Record<string, string>) {
  const shell = await openShell({ ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", ...env });
  await writeFile(join(shell.folder, "transcript.json"), text);
  return shell;
}

it("CTX-06 svc bench context shows that a layered session grows from turn to turn and a planned turn does not", async () => {
  const { env, asked } = await smallModel(() => ({ keepTurns: 0, hints: false }));
  const shell = await shellWith(transcript, env);
  const report = await shell.json<Report>("bench", "context", "transcript.json");
  expect(report).toMatchObject({ turns: 6, plannerFallbacks: 0 });
  expect(asked).toHaveLength(6);
  expect(report.layered.map(({ resumed }) => resumed)).toEqual([false, true, true, true, true, true]);
  for (let turn = 1; turn < 6; turn += 1) expect(report.layered[turn]!.reads - report.layered[turn - 1]!.reads).toBeGreaterThan(500);
  expect(report.planner.every(({ resumed, reads, strategy }) => !resumed && reads < 200 && strategy === "planner")).toBe(true);
  expect((await shell.svc("bench", "context", "transcript.json")).out).toMatch(/^TURN +LAYERED CHARS SENT +TOKENS READ +PLANNER CHARS SENT/);
});

it("CTX-07 svc bench context says on how many turns the planner fell back", async () => {
  const shell = await shellWith(transcript, {});
  const { code, out } = await shell.svc("bench", "context", "transcript.json");
  expect(code).toBe(0);
  expect(out).toContain("The planner fell back to layered on 6 of 6 turns; it needs ANTHROPIC_API_KEY");
});

it.each([
  ["{", "JSON"],
  ["{}", "it holds no list of messages"],
  ['[{"role":"robot","text":"x"}]', "message 0 needs a role, user or assistant, and a text"],
  ["[]", "nobody asks anything in it"],
])("svc bench context refuses %s and says why", async (text, reason) => {
  const shell = await shellWith(text, {});
  const { code, err } = await shell.svc("bench", "context", "transcript.json");
  expect(code).not.toBe(0);
  expect(err).toContain("transcript.json is no transcript");
  expect(err).toContain(reason);
});
