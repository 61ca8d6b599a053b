import { type AgentTool, type PluginContext, type Schema, svcError, type ToolCall } from "@svc/sdk";
import { addition, changeJobs, deletionWish, freeId, jobIn, removal, switching, type WrittenJob, type WrittenJobs } from "./job-changes.ts";
import { type CronState, overviewOf } from "./overview.ts";
import type { CronsSettings, Notify } from "./settings.ts";

const PENDING_PER_AGENT = 10;

const text = (description: string): Schema => ({ type: "string", minLength: 1, description });

/** Tools with which agents keep schedules. What they add and remove waits for the operator; they manage what they asked for themselves, an agent with `admin` everything (CRON-07). */
export function scheduleTools(ctx: PluginContext<CronsSettings>, state: CronState): readonly AgentTool[] {
  const isAdmin = (agent: string) => ctx.agents.get(agent)?.settings["admin"] === true;
  const ownIn = (jobs: WrittenJobs, id: string, agent: string) => {
    const job = jobIn(jobs, id);
    if (!isAdmin(agent) && job.createdBy !== agent)
      throw svcError("SVC_SCHEDULE_FOREIGN", `The job '${id}' is not yours: you manage jobs that you asked for.`, { status: 403 });
    return job;
  };
  const idOnly = { type: "object", required: ["id"], properties: { id: text("The job's id.") } } as const;
  const byOf = ({ agent, taskId }: ToolCall) => `agent ${agent}${taskId === undefined ? "" : ` in ${taskId}`}`;

  const switchTool = (name: string, description: string, enabled: boolean): AgentTool => ({
    name,
    description,
    input: idOnly,
    async run({ id }, call) {
      await changeJobs(ctx.settings, byOf(call), (jobs) => (ownIn(jobs, String(id), call.agent).enabled === enabled ? [] : [switching(String(id), enabled)]));
      return `The job '${id}' is ${enabled ? "on" : "off"}.`;
    },
  });

  return [
    {
      name: "svc_schedule_list",
      description: "List the scheduled jobs you may manage: when they run next, how they went, what waits for the operator's approval.",
      input: { type: "object", properties: {} },
      async run(_input, { agent }) {
        const jobs = await overviewOf(ctx, state, (job) => isAdmin(agent) || job.createdBy === agent);
        return JSON.stringify(
          jobs.map(({ last, ...job }) => ({
            ...job,
            ...(last === undefined ? {} : { last: { at: new Date(last.at).toISOString(), status: last.status, error: last.error } }),
          })),
        );
      },
    },
    {
      name: "svc_schedule_add",
      description:
        "Ask for a scheduled job: a prompt that you get, or a shell command, again and again. `when` is a phrase such as 'every weekday at 9 in Athens' or five fields of cron. It runs once the operator has approved it.",
      input: {
        type: "object",
        required: ["when"],
        properties: {
          when: text("When it runs: 'every weekday at 9 in Athens', 'first monday of the month at 18:30', or '0 9 * * 1-5'."),
          timezone: text("IANA time zone, where `when` names none. Default UTC: ask the person where they are."),
          prompt: text("What the agent is asked at that time. Write it so that it stands alone."),
          command: text("In place of a prompt: a shell command."),
          id: text("A short name for it."),
          agent: text("The agent that runs it; yourself unless you may manage others."),
          model: text("Another model than the agent's."),
          autonomy: { type: "string", enum: ["report", "propose", "act"], description: "report: read only; propose: edits and branches; act: as usual." },
          silent: { type: "boolean", description: "Do not send the answer to the chat this is asked in." },
        },
      },
      run: (input, call) => add(ctx, isAdmin, input, call),
    },
    switchTool("svc_schedule_pause", "Turn a scheduled job off.", false),
    switchTool("svc_schedule_resume", "Turn a scheduled job on again. One that waits for approval goes on waiting.", true),
    {
      name: "svc_schedule_remove",
      description:
        "Ask for the deletion of a scheduled job. It goes on until the operator has approved that; a request that still waits itself is taken back at once.",
      input: idOnly,
      async run({ id: asked }, call) {
        const id = String(asked);
        let said = "";
        await changeJobs(ctx.settings, byOf(call), (jobs) => {
          const { approval, createdBy } = ownIn(jobs, id, call.agent);
          if (approval?.action === "create" && createdBy === call.agent) {
            said = `The request for the job '${id}' is taken back.`;
            return [removal(id)];
          }
          if (approval?.action === "create") throw svcError("SVC_SCHEDULE_PENDING", `The creation of the job '${id}' is not decided yet.`, { status: 409 });
          said = `The deletion of the job '${id}' waits for the operator; until then it goes on.`;
          return approval === undefined ? [deletionWish(id, call.agent, new Date())] : [];
        });
        return said;
      },
    },
  ];
}

/** Writes a job that waits for approval. Who asks is known from the call, never from what an agent says (CRON-07). */
async function add(ctx: PluginContext<CronsSettings>, isAdmin: (agent: string) => boolean, input: Record<string, unknown>, call: ToolCall): Promise<string> {
  const said = (key: string) => (typeof input[key] === "string" && input[key].trim() !== "" ? input[key].trim() : undefined);
  const [prompt, command, agent = call.agent] = [said("prompt"), said("command"), said("agent")];
  if ((prompt === undefined) === (command === undefined)) throw invalid("Give either a prompt or a command.");
  if (agent !== call.agent && !isAdmin(call.agent)) throw invalid("You ask for jobs of your own: leave out `agent`.");
  if (ctx.agents.get(agent) === undefined) throw invalid(`There is no agent '${agent}'.`);
  if (command !== undefined && said("autonomy") !== undefined) throw invalid("A command has no autonomy; leave it out.");
  const { inZone, understand } = await import("./understand.js");
  const understood = await understand(said("when") ?? "", (expression, zone) => ctx.jobs.next(expression, zone, { count: 2 }), said("timezone"));
  const notify = prompt === undefined ? undefined : await chatOf(ctx, call);
  const [model, autonomy] = [said("model"), said("autonomy") as WrittenJob["autonomy"]];
  const job: WrittenJob = {
    schedule: understood.expression,
    timezone: understood.timezone,
    agent,
    ...(prompt === undefined ? {} : { prompt }),
    ...(command === undefined ? {} : { command }),
    ...(model === undefined ? {} : { model }),
    ...(autonomy === undefined ? {} : { autonomy }),
    ...(notify === undefined ? {} : { notify, ...(input["silent"] === true ? {} : { sendAnswer: true }) }),
    createdBy: call.agent,
    approval: { action: "create", requestedBy: call.agent, requestedAt: new Date().toISOString() },
  };
  let id = "";
  await changeJobs(ctx.settings, `agent ${call.agent}`, (jobs) => {
    const waiting = Object.values(jobs).filter(({ approval, createdBy }) => approval?.action === "create" && createdBy === call.agent).length;
    if (waiting >= PENDING_PER_AGENT) throw invalid(`${waiting} of your jobs wait for approval already; let them be decided first.`);
    id = said("id") ?? freeId(jobs, prompt ?? command ?? "");
    if (Object.hasOwn(jobs, id)) throw invalid(`There is a job '${id}' already; choose another id.`);
    return [addition(id, job)];
  });
  return `Asked for the job '${id}': ${understood.words}. It runs once the operator has approved it (svc schedule approve ${id}); then first at ${understood.next[0] === undefined ? "no time" : inZone(understood.next[0], understood.timezone)}.`;
}

/** Where the person is with whom the agent speaks. */
async function chatOf(ctx: PluginContext<CronsSettings>, { taskId }: ToolCall): Promise<Notify | undefined> {
  const trace = taskId === undefined ? undefined : await ctx.traces.get(taskId);
  if (trace === undefined || trace.entry !== "channel") return undefined;
  return { channel: trace.channel, chatId: trace.chat, ...(trace.account === undefined ? {} : { accountId: trace.account }) };
}

const invalid = (message: string) => svcError("SVC_SCHEDULE_INVALID", message, { status: 400 });
