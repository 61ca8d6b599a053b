import { type Forge, type ForgeNote, type ForgeReviewDraft, svcError, type ToolCall } from "@svc/sdk";
import { agentOf, forgeOf, paced, type Shared } from "./connection.ts";
import { runKey } from "./decide.ts";
import { outgoingText } from "./outgoing-text.ts";
import type { OwnComments } from "./own-comments.ts";
import { digest, type Run } from "./rows.ts";
import type { Runs } from "./runs.ts";
import type { Standing } from "./standing.ts";

/** Limit of each tool per run. */
const LIMITS = { comment: 5, label: 10, open_request: 1, review: 1 } as const;

/** A tool's operation. */
export type Act = keyof typeof LIMITS;

const MOST_DEPTH = 3;
const PAIR_AN_HOUR = 4;
const THREAD_AN_HOUR = 10;
const HOUR_MS = 3_600_000;

/** Dependencies of the tools. */
export interface ActParts extends Shared {
  readonly comments: OwnComments;
  readonly runs: Runs;
  readonly standing: Standing;
}

/** A call of a tool that may go ahead. */
interface Doing {
  readonly parts: ActParts;
  readonly forge: Forge;
  readonly run: Run;
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Names the call: the same input again is the same call. */
  readonly key: string;
}

/** Does what a tool was called for: within the limits of its run, once for each input, with the right of who asked. */
export async function perform(act: Act, parts: ActParts, input: Record<string, unknown>, { agent, taskId, signal }: ToolCall): Promise<string> {
  const run = taskId === undefined ? undefined : await parts.runs.ofTask(taskId);
  if (run === undefined || run.agent !== agent)
    throw svcError("SVC_FORGE_RUN", "This is for runs that were asked on a code forge: your task was not. Say in your answer what you wanted to do there.");
  const forge = forgeOf(parts, run.forge);
  const key = `${act}-${digest(canonical(input)).slice(0, 24)}`;
  return parts.runs.exclusive(`${run.id}/tools`, async () => {
    const now = (await parts.runs.get(run.id)) ?? run;
    const before = now.acts?.[key];
    if (before !== undefined) return before;
    const used = Object.keys(now.acts ?? {}).filter((one) => one.startsWith(`${act}-`)).length;
    if (used >= LIMITS[act])
      throw svcError("SVC_FORGE_LIMIT", `A run may use svc_forge_${act} ${LIMITS[act]} times, and this one has. Say the rest in your answer.`);
    if (act !== "comment") await requireWrite(parts, forge, now, signal);
    const said = await WORK[act]({ parts, forge, run: now, input, signal, key });
    await parts.runs.exclusive(run.id, async () => {
      const latest = (await parts.runs.get(run.id)) ?? now;
      await parts.runs.save({ ...latest, acts: { ...latest.acts, [key]: said } });
    });
    await audit(parts, now, act, said);
    return said;
  });
}

/** Rights may be taken away while a run works: they are asked for again before something is changed. */
async function requireWrite({ standing, ctx }: ActParts, forge: Forge, run: Run, signal: AbortSignal): Promise<void> {
  const limited = run.right !== "write" || ctx.agents.get(run.agent)?.settings["autonomy"] === "report" || run.note.request?.fork === true;
  const right = limited ? "report" : await standing.right(forge, run.place.project, run.asker, run.agent, signal);
  if (right !== "write")
    throw svcError(
      "SVC_FORGE_RIGHT",
      `This run may only comment: '${run.asker.login}', who asks, may not change ${run.place.project.path}, or the run is restricted to report.`,
    );
}

/** Audits an operation with its asker and agent: in the log, on the bus, and for `svc forge status`. */
async function audit({ ctx, rows }: ActParts, { forge, agent, asker, place, taskId, note }: Run, act: Act, said: string): Promise<void> {
  const facts = { forge, agent, askedBy: asker.login, project: place.project.path, act, note: note.url, ...(taskId === undefined ? {} : { task: taskId }) };
  ctx.log.info({ ...facts, audit: true }, "an agent has acted on a forge");
  ctx.events.publish({
    kind: "forge",
    type: "forge:action",
    agentId: agent,
    summary: `${agent} ${act} on ${forge} for ${asker.login}`,
    data: facts,
    ...(taskId === undefined ? {} : { ref: taskId }),
  });
  await rows.store.commit([{ op: "append", journal: "actions", value: { at: Date.now(), ...facts, said } }]);
}

async function comment({ parts, forge, run, input, signal, key }: Doing): Promise<string> {
  const { ask } = input;
  const other = ask === undefined ? undefined : agentOf(forge, String(ask), run.place.project);
  if (other !== undefined) await requireRoom(parts, run, other.agent);
  const wanted = { key: `${run.id}/${key}`, run: run.id, agent: run.agent, task: run.taskId ?? run.id, place: run.place, told: [run.asker.login] };
  const { comment: made } = await parts.comments.post(forge, { ...wanted, text: String(input["text"]), urgency: "answer", reply: run.note }, signal);
  const url = made.url ?? forge.url(run.place, made.id);
  if (other === undefined) return `The comment is there: ${url}`;
  const { user } = agentOf(forge, run.agent, run.place.project);
  const now = Date.now();
  const note: ForgeNote = {
    place: run.place,
    kind: run.note.kind === "description" || run.note.kind === "review" ? "note" : run.note.kind,
    id: made.id ?? made.nonce,
    author: user ?? { id: run.agent, login: run.agent, bot: true },
    text: String(input["text"]),
    createdAt: now,
    updatedAt: now,
    edited: false,
    url,
    ...(run.note.title === undefined ? {} : { title: run.note.title }),
    ...(run.note.request === undefined ? {} : { request: run.note.request }),
  };
  // The other agent gets the rights of the person who asked first.
  const start = { id: runKey(forge, note, other.agent), agent: other, actor: run.asker, right: run.right, askedBy: run.agent, depth: (run.depth ?? 0) + 1 };
  await parts.runs.start(forge, note, start);
  return `The comment is there, and ${other.agent} was asked: ${url}`;
}

/** Agents that ask each other could go on for ever. */
async function requireRoom({ rows }: ActParts, run: Run, other: string): Promise<void> {
  const refuse = (reason: string) => svcError("SVC_FORGE_ASK", `${other} is not asked: ${reason}. Say in your answer what is open, a person goes on.`);
  if (other === run.agent) throw refuse("that is you");
  if ((run.depth ?? 0) + 1 > MOST_DEPTH) throw refuse(`agents may ask each other ${MOST_DEPTH} times in a row`);
  const recent = (await rows.runs.list({ where: { thread: run.thread }, by: "at", from: Date.now() - HOUR_MS, limit: 1_000 }))
    .map(({ value }) => value)
    .filter(({ askedBy }) => askedBy !== undefined);
  if (recent.length >= THREAD_AN_HOUR) throw refuse(`agents may ask each other ${THREAD_AN_HOUR} times an hour in a thread`);
  const pair = recent.filter(({ askedBy, agent }) => (askedBy === run.agent && agent === other) || (askedBy === other && agent === run.agent));
  if (pair.length >= PAIR_AN_HOUR) throw refuse(`two agents may ask each other ${PAIR_AN_HOUR} times an hour`);
}

async function label({ parts, forge, run, input, signal }: Doing): Promise<string> {
  const { add = [], remove = [] } = input as { add?: readonly string[]; remove?: readonly string[] };
  if (add.length + remove.length === 0) throw svcError("SVC_FORGE_INPUT", "Name labels in add or remove.");
  const as = agentOf(forge, run.agent, run.place.project);
  await paced(parts, forge, as, "answer", signal, () => forge.label(run.place, { add, remove }, { agent: run.agent }, signal));
  return `Labels changed: ${[...add.map((one) => `+${one}`), ...remove.map((one) => `-${one}`)].join(" ")}`;
}

async function openRequest({ parts, forge, run, input, signal }: Doing): Promise<string> {
  const { title, text: words, source, target, draft } = input as { title: string; text: string; source: string; target?: string; draft?: boolean };
  const as = agentOf(forge, run.agent, run.place.project);
  const rules = rulesOf(forge, run);
  const body = outgoingText(`${words}\n\nOpened by the agent ${run.agent}, asked by @${run.asker.login} in ${run.note.url}`, rules);
  const made = await paced(parts, forge, as, "answer", signal, () =>
    forge.openRequest(
      run.place.project,
      { title: outgoingText(title, rules), text: body, source, ...(target === undefined ? {} : { target }), ...(draft === undefined ? {} : { draft }) },
      { agent: run.agent },
      signal,
    ),
  );
  return `The request ${made.number} is open${made.url === undefined ? "" : `: ${made.url}`}`;
}

async function review({ parts, forge, run, input, signal, key }: Doing): Promise<string> {
  if (run.place.kind !== "request") throw svcError("SVC_FORGE_INPUT", "You were not asked on a request: only requests are reviewed.");
  const { verdict, text: words, comments = [] } = input as unknown as ForgeReviewDraft;
  const rules = rulesOf(forge, run);
  const lines = comments.map((one) => ({ ...one, text: outgoingText(one.text, rules) }));
  const { thread: _thread, position: _position, ...place } = run.place;
  const { comment: made } = await parts.comments.post(
    forge,
    {
      key: `${run.id}/${key}`,
      run: run.id,
      agent: run.agent,
      task: run.taskId ?? run.id,
      place,
      text: words,
      told: [run.asker.login],
      urgency: "answer",
      make: (body, inner) => forge.review(place, { verdict, text: body, ...(lines.length === 0 ? {} : { comments: lines }) }, { agent: run.agent }, inner),
    },
    signal,
  );
  return `The review is there: ${made.url ?? forge.url(place, made.id)}`;
}

const rulesOf = (forge: Forge, { asker }: Run) => ({
  grammar: forge.grammar,
  told: [asker.login],
  secrets: [...forge.webhook.secrets(), ...(forge.secrets?.() ?? [])],
});

/** The same input in another order of keys is the same call. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([left], [right]) => (left < right ? -1 : 1)))
      : one,
  );

const WORK: Readonly<Record<Act, (doing: Doing) => Promise<string>>> = { comment, label, open_request: openRequest, review };
