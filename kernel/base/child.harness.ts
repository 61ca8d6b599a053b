/** Programs that the tests of this room run as processes of their own, to be killed or to fail. */
import { writeSync } from "node:fs";
import { atomicWrite } from "./atomic-file.ts";
import { lockFolder } from "./folder-lock.ts";

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
  /** Takes the folder and keeps it until killed. */
  async lock() {
    try {
      lockFolder(argument);
      print("held");
      setInterval(() => undefined, 60_000);
    } catch (error) {
      print(`${(error as { code: string }).code} ${(error as { pid: number }).pid}`);
    }
  },
  /** Writes one file for ever. */
  async replace() {
    for (let round = 0; ; round += 1) {
      await atomicWrite(argument, String(round % 10).repeat(200_000));
      print(String(round));
    }
  },
};

await programs[name]?.();
