/** Programs that the tests of this room run as processes of their own, to be killed or to fail. */
import { statSync, writeSync } from "node:fs";
import { push, put } from "@svc/sdk";
import { openStore } from "./open.ts";

const [name, argument] = process.argv.slice(2) as [string, string];

/** Returns when the line is in the pipe, so that what was printed was acknowledged. A reader that is slow is waited for. */
function print(line: string): void {
  for (let left = Buffer.from(`${line}\n`); left.length > 0; ) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

const programs: Record<string, () => Promise<void>> = {
  /** Notes two documents at a time, and commits each tenth pair. */
  async note() {
    const core = openStore({ file: argument }).scope("core");
    for (let round = 0; ; round += 1) {
      const ops = [put("tasks", `a-${round}`, round), put("tasks", `b-${round}`, round)];
      if (round % 10 === 9) {
        await core.commit(ops);
        print(`committed ${round}`);
      } else {
        await core.note(ops);
        print(`noted ${round}`);
      }
    }
  },
  /** Writes enough for the thread that empties the log, says when that has done so, and has nothing left to do. */
  async forget() {
    await openStore({ file: argument })
      .scope("core")
      .collection("tasks")
      .put("a", "x".repeat(3 * 1_048_576));
    while (statSync(argument).size < 3 * 1_048_576) await new Promise((resolve) => setTimeout(resolve, 50));
    print("emptied");
  },
  /** Eight writers that print each write when it is acknowledged; ends with 74 when the disk fails under it. */
  async write() {
    const store = openStore({ file: argument });
    store.onFailure(() => {
      store
        .scope("core")
        .collection("tasks")
        .put("late", 1)
        .catch((error: { code: string }) => {
          print(`late ${error.code}`);
          setImmediate(() => process.exit(74));
        });
    });
    const core = store.scope("core");
    const writer = async (lane: number) => {
      for (let round = 0; ; round += 1) {
        const key = `${lane}-${round}`;
        await core.commit([
          put("tasks", key, { key, text: "x".repeat(round % 3000) }, "absent"),
          push("inbox", key, key, { group: `g${lane}`, dedupKey: key }),
        ]);
        print(key);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, lane) => writer(lane).catch((error: { code: string }) => print(`refused ${error.code}`))));
  },
};

await programs[name]?.();
