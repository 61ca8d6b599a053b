import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";
import type { Said } from "./svc.ts";

/** The command line in a process that stays: for tests of many lines. */
export interface Lines {
  /** Runs one line in that folder; one at a time. */
  run(folder: string, args: readonly string[]): Promise<Said>;
  close(): void;
}

/** A line that ends the process is answered with its exit code, and the next one has a new process. */
export function openLines(): Lines {
  let child: ChildProcess | undefined;
  const start = () => fork(join(ROOT, "test/kit/line-runner.mjs"), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  return {
    run(folder, args) {
      child ??= start();
      const asked = child;
      return new Promise((resolve) => {
        const answered = (said: Said) => {
          asked.off("message", answered).off("exit", ended);
          resolve(said);
        };
        const ended = (code: number | null) => {
          child = undefined;
          answered({ code, out: "", err: "" });
        };
        asked.on("message", answered).once("exit", ended);
        asked.send({ folder, args });
      });
    },
    close: () => void child?.kill(),
  };
}
