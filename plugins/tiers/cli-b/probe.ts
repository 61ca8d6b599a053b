import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Agent, PluginContext, ProgramSection } from "@svc/sdk";
import { ask, probeProgram } from "@svc/sdk/engine";
import { environmentOf } from "./launch.ts";
import { findProgram } from "./program.ts";
import { VENDOR } from "./variables.ts";

/** The release that the tests run. */
const TESTED = "0.169.0";

/** Is the program there, is the agent signed in, and is the vendor reachable? */
export function probe(ctx: PluginContext<ProgramSection>, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const read = (name: string) => ctx.env(name);
  return probeProgram({
    spawn: ctx.spawn,
    section: ctx.config,
    read,
    agent,
    tested: TESTED,
    find: () => ({ file: findProgram(ctx.config.command ?? "codex", ctx.env("PATH") ?? ""), args: [] }),
    environment: ({ id }, settings) => environmentOf(id, settings, ctx.config, read),
    signedIn: ({ file }, env) => signIn(ctx, file, env),
    // Where a sign-in or a provider of the operator's leads is the program's affair.
    vendor: { variable: "OPENAI_BASE_URL", address: VENDOR },
  });
}

/** By the program's own word, which costs nothing. */
async function signIn(ctx: PluginContext<ProgramSection>, program: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { code, stdout, stderr } = await ask(ctx.spawn, program, ["login", "status"], { cwd: tmpdir(), env });
  if (code === 0) return "signed in";
  const home = env.CODEX_HOME ?? join(ctx.env("HOME") ?? "", ".codex");
  const config = await readFile(join(home, "config.toml"), "utf8").catch(() => "");
  if (/^\s*model_provider\s*=/m.test(config)) return "a provider of its own in config.toml";
  if (!/not logged in/i.test(stdout + stderr)) return "sign-in: the program did not say";
  throw new Error("not signed in: run `codex login` as the daemon's user, or set billing 'api' and OPENAI_API_KEY");
}
