import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Level } from "../../plugins/tiers/cli-a/guard.ts";
import { BENIGN } from "./guard-benign.ts";
import { attacks, type Mode } from "./guard-corpus.ts";
import { createGuardStage, type GuardStage, wallOf, workingBubblewrap } from "./guard-stage.ts";

// SVC_GUARD_VARIANTS=3000 npx vitest run test/faults/guard.test.ts: as many behind the wall, too. SVC_GUARD_SEED: other compositions.
const seed = Number(process.env.SVC_GUARD_SEED ?? 20260);
const asked = process.env.SVC_GUARD_VARIANTS;
const NARROW = Math.max(2900, Number(asked ?? 0));
const WALLED: Readonly<Record<Mode, number>> = { report: Number(asked ?? 100), propose: Number(asked ?? 60) };
const bwrap = workingBubblewrap();
const narrow: Level = { kind: "narrow", reason: "for this test" };

interface Line {
  readonly text: string;
  readonly line: string;
}

async function letThrough(stage: GuardStage, texts: readonly string[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const text of texts) {
    const { allow, input } = await stage.decide(text);
    if (allow) lines.push({ text, line: String(input?.command) });
  }
  return lines;
}

/** Runs so many lines together, and those that have any effect together each alone. */
async function breachesOf(mode: Mode, stage: GuardStage, lines: readonly Line[], size: number): Promise<string[]> {
  const breaches: string[] = [];
  for (let at = 0; at < lines.length; at += size) {
    const batch = lines.slice(at, at + size);
    const together = size === 1 ? "alone" : await stage.runAll(batch.map(({ line }) => line));
    if (together === undefined) continue;
    const before = breaches.length;
    for (const { text, line } of batch) {
      const effect = await stage.run(line);
      if (effect !== undefined) breaches.push(`${JSON.stringify(text)} ${effect}`);
    }
    // In a report nothing may be changed at all; in a proposal what they did together is what they may do alone.
    if (mode === "report" && size > 1 && breaches.length === before) breaches.push(`together: ${together}`);
  }
  return breaches;
}

describe.each<Mode>(["report", "propose"])("autonomy %s without a wall", (mode) => {
  let stage: GuardStage;
  beforeAll(async () => {
    stage = await createGuardStage(mode, narrow);
  });
  afterAll(() => stage.dispose());

  it(`SEC-S3 SEC-S5 ENG-1 ENG-2 nothing of ${NARROW} attacks that is let through has an effect (seed ${seed})`, { timeout: 1_800_000 }, async () => {
    const lines = await letThrough(stage, attacks(mode, seed, NARROW, stage));
    const breaches = await breachesOf(mode, stage, lines, 12);
    console.info(`${mode}, narrow: ${lines.length} of ${NARROW} let through, ${breaches.length} breaches`);
    expect(breaches).toEqual([]);
    expect(lines.length).toBeGreaterThan(100);
  });

  it("SEC-S3 fewer than one benign form in five is refused, and what runs ends well", { timeout: 300_000 }, async () => {
    const refused: string[] = [];
    for (const text of BENIGN) {
      const { allow, reason } = await stage.decide(text);
      if (!allow) refused.push(`${text}: ${reason}`);
    }
    console.info(`${mode}, narrow: ${refused.length} of ${BENIGN.length} benign forms refused\n${process.env.SVC_GUARD_VERBOSE ? refused.join("\n") : ""}`);
    expect(refused.length / BENIGN.length).toBeLessThan(0.2);
  });

  it.skipIf(!existsSync("/usr/bin/zsh"))("SEC-S3 a line that is let through does the same in zsh", { timeout: 600_000 }, async () => {
    const breaches: string[] = [];
    let runs = 0;
    for (const text of attacks(mode, seed + 1, NARROW, stage)) {
      const { allow, input } = await stage.decide(text);
      if (!allow || (asked === undefined && ++runs > 60)) continue;
      const effect = await stage.run(String(input?.command), "zsh");
      if (effect !== undefined) breaches.push(`${JSON.stringify(text)} ${effect}`);
    }
    expect(breaches).toEqual([]);
  });
});

describe.skipIf(bwrap === undefined).each<Mode>(["report", "propose"])("autonomy %s behind the wall", (mode) => {
  let stage: GuardStage;
  beforeAll(async () => {
    stage = await createGuardStage(mode, wallOf(bwrap as string));
  });
  afterAll(() => stage.dispose());

  it(`SEC-S3 SEC-S5 ENG-1 ENG-2 none of ${WALLED[mode]} attacks has an effect, read or unread (seed ${seed})`, { timeout: 3_600_000 }, async () => {
    const lines = await letThrough(stage, attacks(mode, seed, NARROW, stage).slice(0, WALLED[mode]));
    const breaches = await breachesOf(mode, stage, lines, mode === "report" ? 30 : 1);
    console.info(`${mode}, wall: ${lines.length} of ${WALLED[mode]} let through, ${breaches.length} breaches`);
    expect(breaches).toEqual([]);
  });

  it("SEC-S3 no benign form is refused", async () => {
    const refused: string[] = [];
    for (const text of BENIGN) if (!(await stage.decide(text)).allow) refused.push(text);
    expect(refused).toEqual([]);
  });
});
