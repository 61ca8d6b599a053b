import { type ChildProcess, spawn } from "node:child_process";

/** An interactive program in a terminal of its own. */
export interface Terminal {
  /** What it has written, without the control sequences. */
  readonly screen: string;
  /** Types text; `\r` is the enter key. */
  type(text: string): void;
  /** The process that runs the program. */
  readonly pid: number;
  /** kill -9 of the terminal and of all that runs in it. */
  kill(): Promise<void>;
}

const CONTROL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_].*?\u001b\\|[@-Z\\-_])/g;

/** Starts a program in a pseudo terminal of 120 by 40, made by script(1). */
export function openTerminal(command: readonly string[], { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> }): Terminal {
  const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
  const child: ChildProcess = spawn("script", ["-q", "-e", "-f", "-c", `stty rows 40 cols 120; exec ${quoted}`, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH ?? "", LANG: "C.UTF-8", TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  let screen = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    get screen() {
      return screen.replace(CONTROL, "");
    },
    type: (text) => void child.stdin?.write(text),
    pid: child.pid as number,
    async kill() {
      try {
        process.kill(-(child.pid as number), "SIGKILL");
      } catch {
        // It has ended.
      }
      await ended;
    },
  };
}
