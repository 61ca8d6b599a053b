import type { PluginContext } from "@svc/sdk";
import type { Places } from "./places.ts";
import type { Questions } from "./questions.ts";
import type { ApprovalSettings } from "./settings.ts";
import { digestText } from "./words.ts";

const MOST = 50;

/** Sends the list of open questions to where questions go; nothing where none is open. */
export async function sendDigest(
  { tasks, log }: Pick<PluginContext, "tasks" | "log">,
  questions: Questions,
  places: Places,
  { digest: { timezone } }: ApprovalSettings,
): Promise<void> {
  const open = await questions.list({ open: true, limit: MOST });
  const target = places.configured();
  if (open.length === 0) return;
  if (target === undefined) return log.info({ open: open.length }, "questions are open; set approvals.digest.destination to be told daily");
  const { sent } = await tasks.deliver({ kind: "notice", target, text: digestText(open, timezone), title: "Open questions" });
  sent.catch(() => {});
}
