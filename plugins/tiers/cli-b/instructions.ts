import { createHash } from "node:crypto";
import type { PluginContext, ProgramSection } from "@svc/sdk";
import { conversationRows, type LineRpc } from "@svc/sdk/engine";

/** Instructions that a conversation's thread was sent last. */
interface Told {
  readonly thread: string;
  /** Digest of the system prompt. */
  readonly digest: string;
}

/**
 * A thread keeps the system prompt that it began with: a resumed one is told the newer one by a message of its own, once for each
 * change. What was told is stored, so that a restart neither forgets nor repeats it.
 */
export async function instruct(
  ctx: PluginContext<ProgramSection>,
  rpc: LineRpc,
  { conversation, thread, system, resumed }: { readonly conversation: string; readonly thread: string; readonly system: string; readonly resumed: boolean },
): Promise<void> {
  const sent = conversationRows<Told>(ctx.store, "instructions");
  const digest = createHash("sha256").update(system).digest("hex");
  const before = await sent.get(conversation);
  if (before?.thread === thread && before.digest === digest) return;
  if (resumed) {
    const text = `These instructions replace the ones you were given before:\n\n${system}`;
    await rpc.request("thread/inject_items", { threadId: thread, items: [{ type: "message", role: "developer", content: [{ type: "input_text", text }] }] });
  }
  await sent.put(conversation, { thread, digest });
}
