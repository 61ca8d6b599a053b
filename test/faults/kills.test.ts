import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { endDaemons, pause } from "./daemon.harness.ts";
import { createWitness, type Tally } from "./witness.harness.ts";

/** Kills; `npm run soak` sets a thousand. */
const KILLS = Number(process.env.SVC_SOAK ?? 4);
/** The history is judged after this many kills, and begun afresh, so that judging stays quick. */
const CHAPTER = 25;

afterEach(endDaemons);

const NOTHING: Tally = { acknowledged: 0, delivered: 0, doubled: 0, doubts: 0 };
const sumOf = (one: Tally, other: Tally): Tally => ({
  acknowledged: one.acknowledged + other.acknowledged,
  delivered: one.delivered + other.delivered,
  doubled: one.doubled + other.doubled,
  doubts: one.doubts + other.doubts,
});

it(`FAULT-01 FAULT-02 FAULT-03 FAULT-05 ${KILLS} kills at any moment: nothing acknowledged is lost, a key has one task and one effect, chats keep their order`, {
  timeout: 60_000 + KILLS * 6_000,
}, async () => {
  const began = performance.now();
  let total = NOTHING;
  const tell = (done: number, { acknowledged, delivered, doubled, doubts }: Tally) => {
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(
      `${seconds} s: kill ${done} of ${KILLS}; ${acknowledged} messages acknowledged, ${delivered} answers delivered, ` +
        `${doubled} of them twice where no key can be handed over, announced as possible duplicates ${doubts} times`,
    );
  };
  for (let done = 0; done < KILLS; ) {
    const folder = await mkdtemp(join(tmpdir(), "svc-kills-"));
    const witness = await createWitness(folder, 2);
    try {
      for (const first = done; done < Math.min(first + CHAPTER, KILLS); done += 1) {
        // Each fourth one is only just starting; never the first, whose plugins have yet to come up once.
        if ((done - first) % 4 === 3) await witness.startAndKill(200 + Math.random() * 600);
        else {
          const daemon = await witness.start();
          const sending = witness.sendTo(daemon);
          await pause(Math.random() * 500);
          await daemon.kill("SIGKILL");
          await sending;
        }
        if (KILLS > CHAPTER && done % 5 === 4) tell(done + 1, sumOf(total, witness.tally()));
      }
      const daemon = await witness.start();
      expect(await witness.judge(daemon)).toEqual([]);
      await daemon.kill("SIGTERM");
      // What has ended stays as it ended, over a restart in good order too.
      const again = await witness.start();
      expect(await witness.judge(again)).toEqual([]);
      await again.kill("SIGTERM");
      total = sumOf(total, witness.tally());
    } finally {
      await endDaemons();
      await witness.close();
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  }
  tell(KILLS, total);
  expect(total.acknowledged).toBeGreaterThan(KILLS);
  expect(total.delivered).toBeGreaterThan(KILLS);
});
