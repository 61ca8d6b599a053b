import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "./kernel.ts";
import { storeOf } from "./test-store.ts";

/** What a run of the program said. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The real program in a folder of its own, as a person would use it. */
export interface Shell {
  readonly folder: string;
  svc(...args: string[]): Promise<Said>;
  /** As `svc --json`, parsed. */
  json<T>(...args: string[]): Promise<T>;
  config(): Record<string, unknown>;
  write(config: unknown): void;
  /** The daemon's process id, while there is a note of it. */
  pid(): number;
}

const PROGRAM = join(ROOT, "cli/bin/svc.mjs");

/** `given`: a folder that outlives the test; without it one that ends with it. */
export async function openShell(env: Record<string, string> = {}, given?: string): Promise<Shell> {
  const folder = given ?? (await temporaryFolder());
  const svc = (...args: string[]) =>
    new Promise<Said>((resolve) => {
      const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { ...process.env, SVC_CONFIG: "", ...env } });
      child.stdin.end();
      let out = "";
      let err = "";
      child.stdout.on("data", (chunk) => {
        out += chunk;
      });
      child.stderr.on("data", (chunk) => {
        err += chunk;
      });
      child.on("close", (code) => resolve({ code, out, err }));
    });
  return {
    folder,
    svc,
    json: async (...args) => JSON.parse((await svc(...args, "--json")).out),
    config: () => JSON.parse(readFileSync(join(folder, "svc.json"), "utf8")),
    write: (config) =>
      writeFileSync(join(folder, "svc.json"), typeof config === "string" ? config : JSON.stringify({ ...storeOf(folder), ...(config as object) }, null, 2)),
    pid: () => JSON.parse(readFileSync(join(folder, ".svc/daemon.json"), "utf8")).pid,
  };
}

/** A configuration that listens on any free port, with an agent that says things back. */
export const echoConfig = (agent: object = {}, rest: object = {}) => ({
  node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "echo" },
  agents: { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" }, ...agent } },
  ...rest,
});
