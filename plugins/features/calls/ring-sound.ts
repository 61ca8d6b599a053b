import { type PluginContext, reasonOf } from "@svc/sdk";

const FOLDER = "/System/Library/Sounds";
const LIMIT_MS = 15_000;

/** Plays the sound of a ring on this machine, where it is a Mac; elsewhere the chats are all there is. */
export async function playRing(ctx: Pick<PluginContext, "log" | "spawn">, sound: string, platform: NodeJS.Platform = process.platform): Promise<void> {
  if (platform !== "darwin") return;
  try {
    const child = ctx.spawn("afplay", [`${FOLDER}/${sound}.aiff`], { cwd: "/", stdin: "ignore", timeoutMs: LIMIT_MS });
    await child.started;
    const { code, stderr } = await child.ended;
    if (code !== 0) ctx.log.warn({ sound, code }, `the sound of a ring was not played: ${stderr.trim() || "see calls.ringSound"}`);
  } catch (error) {
    ctx.log.warn({ sound, reason: reasonOf(error) }, "the sound of a ring was not played");
  }
}
