import { codeOf, type Inbound, type PluginContext, type Rejection, reasonOf } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { Places } from "./places.ts";
import type { Questions } from "./questions.ts";

/** Payload of a button: the question and the answer. */
const CHOICE = /^([a-z2-9]{8})\.([a-z0-9._-]{1,16})$/;

/**
 * Takes an answer that was given on chat, whether it counts or not; undefined for choices of others. Who may not answer, or comes too late,
 * is told so in that chat.
 */
export async function takeChatAnswer(
  message: Inbound,
  { ctx, questions, places }: { readonly ctx: Pick<PluginContext, "tasks" | "log">; readonly questions: Questions; readonly places: Places },
): Promise<Rejection | undefined> {
  const [, id = "", choice = ""] = CHOICE.exec(message.choice?.id ?? "") ?? [];
  if (id === "" || (await questions.row(id)) === undefined) return undefined;
  const { channel, chat, account, thread, platformId, sender } = message;
  const who = sender?.name ?? sender?.handle ?? sender?.id ?? "somebody";
  const by = sender === undefined || sender.id === who ? who : `${who} (${sender.id})`;
  try {
    if (!places.mayAnswer(message)) throw fail("SVC_APPROVAL_FORBIDDEN", { who: sender === undefined ? channel : `${channel}:${sender.id}` });
    if (choice === "later") await questions.later(id, undefined, { by, surface: channel });
    else await questions.decide(id, choice, { by, surface: channel });
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    const decision = (await questions.row(id))?.decision;
    // The same answer, taken up again after a restart.
    if (decision?.by === by && decision.surface === channel && decision.choice === choice) return { reject: `it answered question ${id}` };
    const place = { ...(account === undefined ? {} : { account }), ...(thread === undefined ? {} : { thread }) };
    const target = { channel, chat, ...place, ...(platformId === undefined ? {} : { replyTo: platformId }) };
    const { sent } = await ctx.tasks.deliver({ kind: "notice", target, text: reasonOf(error) });
    sent.catch((failure) => ctx.log.warn({ channel, reason: reasonOf(failure) }, "who answered too late could not be told"));
  }
  return { reject: `it answers question ${id}` };
}
