import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Agent, PluginContext, ProgramSection } from "@svc/sdk";
import { probeProgram } from "@svc/sdk/engine";
import { environmentOf, FIXED } from "./launch.ts";
import { findProgram } from "./program.ts";
import { VENDOR } from "./variables.ts";

/** The release that the tests run. */
const TESTED = "0.61.0";
const CREDENTIALS = ["oauth_creds.json", "gemini-credentials.json"] as const;

/** Is the program there, is the agent signed in, and is the vendor reachable? */
export function probe(ctx: PluginContext<ProgramSection>, agent?: Agent): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const read = (name: string) => ctx.env(name);
  return probeProgram({
    spawn: ctx.spawn,
    section: ctx.config,
    read,
    agent,
    env: FIXED,
    tested: TESTED,
    find: () => findProgram(ctx.config.command ?? "gemini", ctx.env("PATH") ?? ""),
    environment: ({ id }, settings) => environmentOf(id, settings, ctx.config, read),
    signedIn: (_, env) => signIn(join(env.GEMINI_CLI_HOME ?? env.HOME ?? ctx.env("HOME") ?? "", ".gemini")),
    vendor: { variable: "GOOGLE_GEMINI_BASE_URL", address: VENDOR },
  });
}

/** The program has no command for it: its credentials file is there or not. */
async function signIn(home: string): Promise<string> {
  const found = await Promise.all(
    CREDENTIALS.map((name) =>
      stat(join(home, name)).then(
        (file) => file.isFile(),
        () => false,
      ),
    ),
  );
  if (found.includes(true)) return "signed in";
  throw new Error(`not signed in (no credentials in ${home}): run \`gemini\` once as the daemon's user, or set billing 'api' and GEMINI_API_KEY`);
}
