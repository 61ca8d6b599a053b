import { type ApprovalDecision, type Approvals, type PluginContext, reasonOf } from "@svc/sdk";
import { changeJobs, readJobs, verdict, type WrittenJob } from "./job-changes.ts";
import type { CronsSettings, JobSettings, PendingApproval } from "./settings.ts";

/** The kind of questions about jobs. */
const KIND = "job";

/** Pending jobs as questions to people, where some plugin serves approvals. Without one, `svc schedule approve` is the way. */
export interface ApprovalLink {
  /** Asks about each job that waits, and takes back what was decided elsewhere. Asked again it is the same question. */
  ask(): Promise<void>;
}

type PendingJob = JobSettings & { readonly approval: PendingApproval };

/** Makes the link. The file says what waits; a question and its decision only ever follow from it. */
export function createApprovalLink(ctx: PluginContext<CronsSettings>, jobs: () => CronsSettings): ApprovalLink {
  let heard: Approvals | undefined;
  /** Nothing waits, and nothing is asked. */
  let quiet = false;
  const pending = () => Object.entries(jobs()).filter((entry): entry is [string, PendingJob] => entry[1].approval !== undefined);

  async function decided(approvals: Approvals, { key = "", digest, state, by = "somebody", surface = "" }: ApprovalDecision): Promise<void> {
    // Taken back: by us, because the job is another one now or was decided elsewhere.
    if (state === "withdrawn") return;
    const found = pending().find(([id, job]) => keyOf(id, job.approval) === key);
    if (found === undefined) return;
    const [id, job] = found;
    if ((await approvals.digest(actionOf(id, job))) !== digest)
      return void ctx.log.warn({ job: id }, `the job ${id} has changed since it was decided about; it still waits`);
    const approved = state === "approved";
    await changeJobs(ctx.settings, `${by}${surface === "" ? "" : ` on ${surface}`}: ${approved ? "approved" : state} the job ${id}`, (written) => {
      const waits = written[id]?.approval;
      return waits !== undefined && keyOf(id, waits) === key ? [verdict(id, waits, approved)] : [];
    });
    ctx.log.info({ job: id, action: job.approval.action, state }, `the request to ${job.approval.action} the job ${id} is ${state}`);
  }

  return {
    async ask() {
      const approvals = ctx.services.get("approvals");
      if (approvals === undefined || (quiet && approvals === heard && pending().length === 0)) return;
      try {
        if (approvals !== heard) approvals.onDecided(KIND, (decision) => decided(approvals, decision));
        heard = approvals;
        const keys = new Set<string>();
        const written = pending().length === 0 ? {} : await readJobs(ctx.settings);
        for (const [id, job] of pending()) {
          const key = keyOf(id, job.approval);
          keys.add(key);
          const shown = written[id];
          // Taken out of the file, which is not in force yet.
          if (shown === undefined) continue;
          // One that cannot be asked about, such as for its length, keeps no other one from people.
          await questionOf(ctx, approvals, { id, job, shown, key })
            .then((question) => approvals.ask(question))
            .catch((error) => ctx.log.warn({ job: id, reason: reasonOf(error) }, `people could not be asked about the job ${id}; svc schedule approve works`));
        }
        for (const { id, key } of await approvals.list({ open: true, kind: KIND }))
          if (key !== undefined && !keys.has(key)) await approvals.withdraw(id, "it was decided about, or taken out, in svc.json");
        quiet = keys.size === 0;
      } catch (error) {
        ctx.log.warn({ reason: reasonOf(error) }, "people could not be asked about pending jobs; svc schedule approve works");
      }
    },
  };
}

const keyOf = (id: string, { action, requestedAt }: PendingApproval): string => `job:${id}:${action}:${requestedAt}`;

/** Returns the parts of a job that matter to its approval. */
function actionOf(id: string, { approval, enabled: _, fireToken: _token, ...job }: PendingJob): unknown {
  return { id, action: approval.action, requestedBy: approval.requestedBy, ...job };
}

/** People see prompt and command as svc.json has them: what `${NAME}` stands for may be a secret, and is for no chat. */
async function questionOf(
  ctx: PluginContext<CronsSettings>,
  approvals: Approvals,
  { id, job, shown, key }: { readonly id: string; readonly job: PendingJob; readonly shown: WrittenJob; readonly key: string },
): Promise<Parameters<Approvals["ask"]>[0]> {
  const { approval, agent, schedule, timezone, workflow, autonomy, model, notify } = job;
  const { prompt = "", command } = shown;
  const times = (await ctx.jobs.next(schedule, timezone, { count: 2 })).map((time) =>
    time.toLocaleString("en-GB", { timeZone: timezone, dateStyle: "medium", timeStyle: "short" }),
  );
  const isAgent = ctx.agents.get(approval.requestedBy) !== undefined;
  return {
    kind: KIND,
    key,
    title: approval.action === "create" ? `Let the job '${id}' run by schedule?` : `Delete the job '${id}'?`,
    detail: [
      `When: ${schedule} (${timezone})${times.length === 0 ? "" : `, next ${times.join(" and ")}`}`,
      `Agent: ${agent}${model === undefined ? "" : `, model ${model}`}${autonomy === undefined ? "" : `, autonomy ${autonomy}`}`,
      workflow !== undefined ? `Workflow: ${workflow}` : command === undefined ? `Prompt: ${prompt}` : `Command, run as the daemon's user: ${command}`,
      ...(notify === undefined ? [] : [`Messages to: ${notify.channel} ${notify.chatId}`]),
    ].join("\n"),
    digest: await approvals.digest(actionOf(id, job)),
    requestedBy: `${isAgent ? "agent " : ""}${approval.requestedBy}`,
    ...(isAgent ? { agent: approval.requestedBy } : {}),
    ...(notify === undefined
      ? {}
      : { destination: { channel: notify.channel, chat: notify.chatId, ...(notify.accountId === undefined ? {} : { account: notify.accountId }) } }),
  };
}
