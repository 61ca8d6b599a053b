import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { afterAll } from "vitest";
import { ROOT } from "../house/house.ts";
import type { Said, Shell } from "./svc.ts";

/** The command line in a process that stays: for tests of many lines. */
export interface Lines {
  /** Runs one line in that folder, with those variables besides; one at a time. */
  run(folder: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Said>;
  close(): void;
}

/** A line that ends the process is answered with its exit code, and the next one has a new process. `began`: variables that Node reads as it starts. */
export function openLines(began: Readonly<Record<string, string>> = {}): Lines {
  let child: ChildProcess | undefined;
  const start = () => fork(join(ROOT, "test/kit/line-runner.mjs"), { stdio: ["ignore", "ignore", "inherit", "ipc"], env: { ...process.env, ...began } });
  return {
    run(folder, args, env = {}) {
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
        asked.send({ folder, args, env });
      });
    },
    close: () => void child?.kill(),
  };
}

/** For the tests of a file: answers a shell whose commands run in one such process, which ends after the last test. It starts no daemon. */
export function sharedLines(): (shell: Shell, env?: Readonly<Record<string, string>>) => Pick<Shell, "svc" | "json"> {
  const lines = openLines();
  afterAll(() => lines.close());
  return ({ folder }, env) => {
    const svc = (...args: string[]) => lines.run(folder, args, env);
    return { svc, json: async (...args) => JSON.parse((await svc(...args, "--json")).out) };
  };
}
