import { codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import type { Outcome, Run } from "./runs.ts";

/**
 * Starts the workflow of a job: once for each time of the schedule, over restarts too, and not beside a run that the job has started before
 * and that is still under way. The job is over with the start; what becomes of the run stands with the workflow.
 */
export async function startWorkflow(
  { services, log }: Pick<PluginContext, "services" | "log">,
  workflow: string,
  { job, minute }: Pick<Run, "job" | "minute">,
  key: string,
): Promise<Outcome> {
  const workflows = services.get("workflows");
  if (workflows === undefined)
    return { status: "failed", errorKind: "refused", error: `The workflow '${workflow}' cannot be started: the section workflows of svc.json is not enabled.` };
  try {
    const { runId, workflowId } = await workflows.start(workflow, { startKey: `${job}:${minute ?? key}`, entry: { kind: "cron", ref: job } });
    return { status: "ok", output: `${runId} of the workflow ${workflowId}` };
  } catch (error) {
    if (codeOf(error) === "SVC_WORKFLOW_IN_FLIGHT") {
      log.warn({ job, workflow }, `the workflow ${workflow} of the job ${job} still runs and is not started again`);
      return { status: "ok", output: reasonOf(error) };
    }
    return { status: "failed", error: reasonOf(error), errorKind: "refused" };
  }
}
