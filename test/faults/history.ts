/** How a message comes in and its answer goes out: over HTTP to its sender, or over a channel whose platform takes keys or knows none. */
export type Way = "http" | "keyed" | "keyless";

/** One message as its sender saw it. */
export interface Sent {
  readonly key: string;
  readonly way: Way;
  readonly chat: string;
  readonly text: string;
  /** Known once the daemon has acknowledged it. */
  taskId?: string;
}

/** One run of an engine, as it noted it down itself. */
export interface Ran {
  readonly chat: string;
  readonly text: string;
  readonly taskId: string;
}

/** One answer as people see it. */
export interface Arrived {
  readonly chat: string;
  readonly text: string;
}

/** What is known of a task in the end. */
export interface Ended {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly response?: string;
  readonly error?: string;
}

/** All that was seen of daemons that were killed and started again. */
export interface History {
  readonly sent: readonly Sent[];
  readonly ran: readonly Ran[];
  readonly arrived: readonly Arrived[];
  /** How often a daemon said that what it sends may be there already. */
  readonly doubts: number;
  readonly ended: ReadonlyMap<string, Ended>;
  /** The same at an earlier judgement. */
  readonly earlier: ReadonlyMap<string, Ended>;
}

/**
 * What is wrong with a history of kills and restarts, in words; empty when every promise held: no acknowledged message is lost, a key
 * has one task and one effect for each attempt, messages of a chat are begun and answered in the order of their acknowledgement, an
 * answer is there once where the platform takes keys and announced as a possible duplicate where it comes twice without, and what
 * has ended stays as it ended.
 */
export function judgeHistory({ sent, ran, arrived, doubts, ended, earlier }: History): string[] {
  const wrong: string[] = [];
  const runs = groupBy(ran, ({ text }) => text);
  const answers = groupBy(arrived, ({ text }) => text);
  let doubled = 0;
  for (const { key, way, text, taskId } of sent) {
    const seen = answers.get(`did ${text}`)?.length ?? 0;
    if (way === "keyed" && seen > 1) wrong.push(`${key}: answered ${seen} times to a platform that takes keys`);
    if (way === "keyless") doubled += Math.max(0, seen - 1);
    if (taskId === undefined) continue;
    const task = ended.get(taskId);
    if (task === undefined) wrong.push(`${key}: acknowledged as ${taskId}, and lost`);
    else if (task.status !== "ok") wrong.push(`${key}: ${taskId} ended as ${task.status}: ${task.error}`);
    else if (task.response !== `did ${text}`) wrong.push(`${key}: ${taskId} answered ${task.response}`);
    const own = runs.get(text) ?? [];
    if (own.length === 0) wrong.push(`${key}: acknowledged as ${taskId}, and never run`);
    if (task !== undefined && own.length > task.attempts) wrong.push(`${key}: run ${own.length} times in ${task.attempts} attempts`);
    const others = own.filter((run) => run.taskId !== taskId);
    if (others.length > 0) wrong.push(`${key}: run as ${taskId} and as ${others[0]?.taskId}`);
    if (way !== "http" && seen === 0) wrong.push(`${key}: acknowledged as ${taskId}, and its answer never arrived`);
  }
  if (doubled > doubts) wrong.push(`${doubled} answers are there twice, and ${doubts} were said to be possible duplicates`);
  wrong.push(...disorder(sent, ran, (text) => text, "begun"), ...disorder(sent, arrived, (text) => `did ${text}`, "answered"));
  for (const [id, before] of earlier) {
    const now = ended.get(id);
    if (now !== undefined && JSON.stringify(now) !== JSON.stringify(before))
      wrong.push(`${id}: ended as ${JSON.stringify(before)}, and later as ${JSON.stringify(now)}`);
  }
  return wrong;
}

/** The chats where things first happened in another order than they were asked for. `say` makes of a message what is heard of it. */
function disorder(sent: readonly Sent[], heard: readonly Arrived[], say: (text: string) => string, done: string): string[] {
  return [...groupBy(heard, ({ chat }) => chat)].flatMap(([chat, list]) => {
    const texts = new Set(list.map(({ text }) => text));
    const due = sent.filter((message) => message.chat === chat && texts.has(say(message.text))).map(({ text }) => say(text));
    const at = [...texts].findIndex((text, index) => text !== due[index]);
    return at === -1 ? [] : [`${chat}: ${[...texts][at]} was ${done} where ${due[at]} was due`];
  });
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
