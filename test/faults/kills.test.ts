import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { endDaemons, pause } from "./daemon.harness.ts";
import { createWitness } from "./witness.harness.ts";

/** Kills; `npm run soak` sets a thousand. */
const KILLS = Number(process.env.SVC_SOAK ?? 6);
/** The history is judged after this many kills, and begun afresh, so that judging stays quick. */
const CHAPTER = 25;

afterEach(endDaemons);

it(`FAULT-01 FAULT-02 FAULT-05 ${KILLS} kills at any moment: nothing acknowledged is lost, a key has one task, chats keep their order`, {
  timeout: 60_000 + KILLS * 6_000,
}, async () => {
  let acknowledged = 0;
  for (let done = 0; done < KILLS; ) {
    const folder = await mkdtemp(join(tmpdir(), "svc-kills-"));
    try {
      const witness = createWitness(folder, 6);
      for (const last = Math.min(done + CHAPTER, KILLS); done < last; done += 1) {
        const daemon = await witness.start();
        const sending = witness.sendTo(daemon);
        await pause(Math.random() * 500);
        await daemon.kill("SIGKILL");
        await sending;
      }
      const daemon = await witness.start();
      expect(await witness.judge(daemon)).toEqual([]);
      await daemon.kill("SIGTERM");
      // What has ended stays as it ended, over a restart in good order too.
      const again = await witness.start();
      expect(await witness.judge(again)).toEqual([]);
      await again.kill("SIGTERM");
      acknowledged += witness.acknowledged;
      if (KILLS > CHAPTER) console.log(`${done} kills, ${acknowledged} messages acknowledged, nothing lost`);
    } finally {
      await endDaemons();
      await rm(folder, { recursive: true, maxRetries: 5 });
    }
  }
  expect(acknowledged).toBeGreaterThan(KILLS);
});
