import { tmpdir } from "node:os";
import type { PluginContext } from "@svc/sdk";
import type { Program } from "./program.ts";
import type { Section } from "./settings.ts";

const LIMIT_MS = 10_000;

/** Is the program there, and does it start? Answers with its version. */
export async function probe(ctx: PluginContext<Section>, find: () => Program): Promise<{ readonly ok: boolean; readonly detail: string }> {
  try {
    const { file, args } = find();
    const child = ctx.spawn(file, [...args, "--version"], { cwd: tmpdir(), stdin: "ignore", timeoutMs: LIMIT_MS });
    await child.started;
    const { code, stdout, stderr } = await child.ended;
    return code === 0 ? { ok: true, detail: `Gemini CLI ${stdout.trim()}` } : { ok: false, detail: `gemini --version failed: ${stderr.trim().slice(0, 200)}` };
  } catch (error) {
    return { ok: false, detail: (error as Error).message };
  }
}
