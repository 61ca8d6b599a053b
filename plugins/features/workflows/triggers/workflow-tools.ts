import { type AgentTool, reasonOf, svcError, type Traces, type WorkflowHead, type WorkflowRun, type Workflows } from "@svc/sdk";

/** An agent's call waits no longer: programs give up on tools that say nothing for half a minute or a whole one. */
const WAIT_MS = 25_000;
const SHOWN = 20_000;

/** Runs that agents of runs have started, one from within the other, at most: as many as sub-processes. */
const DEEPEST = 10;

type Used = Pick<Workflows, "list" | "start" | "run" | "wait">;

/** Tools of agents for workflows: list them, start one, and wait for its end, for a bounded time each call. */
export function workflowTools(workflows: Used, traces: () => Pick<Traces, "get">): readonly AgentTool[] {
  return [
    {
      name: "svc_workflow_list",
      description: "Lists the workflows that can be started, with what each takes.",
      input: { type: "object", additionalProperties: false, properties: {} },
      async run() {
        const usable = (await workflows.list()).filter(({ broken }) => !broken);
        return usable.length === 0 ? "There are no workflows." : usable.map(lineOf).join("\n");
      },
    },
    {
      name: "svc_workflow_start",
      description:
        "Starts a workflow and tells the id of its run, which goes on by itself. Use svc_workflow_wait for its result. With a key, the same key twice is one run.",
      input: {
        type: "object",
        additionalProperties: false,
        required: ["id"],
        properties: {
          id: { type: "string", minLength: 1, maxLength: 64 },
          input: { type: "object", description: "what svc_workflow_list says that it takes" },
          key: { type: "string", minLength: 1, maxLength: 200 },
        },
      },
      async run({ id, input, key }, { agent, taskId }) {
        await requireShallow(workflows, traces(), taskId);
        const started = await workflows.start(String(id), {
          ...(input === undefined ? {} : { input: input as Record<string, unknown> }),
          // Of this agent: another one's key is another run.
          ...(key === undefined ? {} : { startKey: `agent:${agent}:${String(key)}` }),
          entry: { kind: "agent", ...(taskId === undefined ? {} : { ref: taskId }) },
          // One task may start a workflow more than once.
          force: true,
        });
        return `${started.duplicate === true ? "It was started before" : "Started"}: run ${started.runId} of ${started.workflowId}, ${started.status}.`;
      },
    },
    {
      name: "svc_workflow_wait",
      description:
        "Waits up to 25 seconds for the end of a run that this task, or one before it in its chain, has started and tells its output, or what it waits for. Call it again while it is not over.",
      input: { type: "object", additionalProperties: false, required: ["run"], properties: { run: { type: "string", minLength: 1, maxLength: 200 } } },
      async run({ run: id }, { signal, taskId }) {
        const runId = String(id);
        await requireOwn(workflows, traces(), runId, taskId);
        const timeout = AbortSignal.timeout(WAIT_MS);
        try {
          return ended(await workflows.wait(runId, AbortSignal.any([signal, timeout])));
        } catch (error) {
          if (!timeout.aborted) throw error;
          const run = await workflows.run(runId);
          if (run === undefined) throw svcError("SVC_WORKFLOW_RUN_UNKNOWN", reasonOf(error), { status: 404 });
          return `Run ${runId} is ${run.status}. ${run.waits.map(({ node, kind, for: what, until }) => `${node} waits for ${kind}${what === undefined ? "" : ` ${what}`}${until === undefined ? "" : ` until ${until}`}`).join("; ")}`;
        }
      },
    },
  ];
}

/** Throws where the agent works for a run that an agent of a run has started, and so on: a circle would never end. */
async function requireShallow(workflows: Used, traces: Pick<Traces, "get">, taskId: string | undefined): Promise<void> {
  let task = taskId;
  for (let depth = 0; task !== undefined; depth += 1) {
    const runId = (await traces.get(task))?.runId;
    if (runId === undefined) return;
    if (depth >= DEEPEST)
      throw svcError(
        "SVC_WORKFLOW_DEPTH",
        `Runs are started from within runs ${DEEPEST} deep; this one is not. Does an agent of a workflow start that workflow again?`,
        { status: 409 },
      );
    const entry = (await workflows.run(runId))?.entry;
    task = entry?.kind === "agent" ? entry.ref : undefined;
  }
}

/** Throws for a run of another chain, as for one that is not there: what came of it is not this agent's to read. Without a task it is a person who asks. */
async function requireOwn(workflows: Used, traces: Pick<Traces, "get">, runId: string, taskId: string | undefined): Promise<void> {
  if (taskId === undefined) return;
  const [caller, run] = await Promise.all([traces.get(taskId), workflows.run(runId)]);
  const starter = run?.entry.kind === "agent" && run.entry.ref !== undefined ? await traces.get(run.entry.ref) : undefined;
  if (caller !== undefined && run !== undefined && [run.rootId, starter?.rootId].includes(caller.rootId)) return;
  throw svcError("SVC_WORKFLOW_RUN_UNKNOWN", `No run ${runId} was started by this task's own chain`, { status: 404 });
}

function lineOf({ id, name, description, inputSchema }: WorkflowHead): string {
  const fields = Object.entries(inputSchema).map(
    ([field, { type, required, description: words }]) => `${field} (${type}${required === true ? ", required" : ""})${words === undefined ? "" : `: ${words}`}`,
  );
  return [`${id}${name === undefined ? "" : ` - ${name}`}${description === undefined ? "" : `: ${description}`}`, ...fields.map((field) => `  ${field}`)].join(
    "\n",
  );
}

function ended({ id, status, output, error }: WorkflowRun): string {
  if (status !== "completed") return `Run ${id} is ${status}${error === undefined ? "" : `: ${error.code}: ${error.message}`}.`;
  const text = JSON.stringify(output ?? null);
  return `Run ${id} is completed. Output: ${text.length > SHOWN ? `${text.slice(0, SHOWN)}... (${text.length} characters)` : text}`;
}
