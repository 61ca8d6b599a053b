/** One message as its sender saw it. */
export interface Sent {
  readonly key: string;
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

/** What is known of a task in the end. */
export interface Ended {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly response?: string;
}

/**
 * What is wrong with a history of kills and restarts, in words; empty when every promise held: no acknowledged message is lost, a key
 * has one task and one effect for each attempt, messages of a chat are begun in the order of their acknowledgement, and what has
 * ended stays as it ended.
 */
export function judgeHistory(sent: readonly Sent[], ran: readonly Ran[], ended: ReadonlyMap<string, Ended>, earlier: ReadonlyMap<string, Ended>): string[] {
  const wrong: string[] = [];
  const runs = new Map<string, Ran[]>();
  for (const run of ran) runs.set(run.text, [...(runs.get(run.text) ?? []), run]);
  for (const { key, text, taskId } of sent) {
    if (taskId === undefined) continue;
    const task = ended.get(taskId);
    if (task === undefined) wrong.push(`${key}: acknowledged as ${taskId}, and lost`);
    else if (task.status !== "ok") wrong.push(`${key}: ${taskId} ended as ${task.status}`);
    else if (task.response !== `did ${text}`) wrong.push(`${key}: ${taskId} answered ${task.response}`);
    const own = runs.get(text) ?? [];
    if (own.length === 0) wrong.push(`${key}: acknowledged as ${taskId}, and never run`);
    if (task !== undefined && own.length > task.attempts) wrong.push(`${key}: run ${own.length} times in ${task.attempts} attempts`);
    const others = own.filter((run) => run.taskId !== taskId);
    if (others.length > 0) wrong.push(`${key}: run as ${taskId} and as ${others[0]?.taskId}`);
  }
  for (const [chat, texts] of begun(ran)) {
    const asked = sent.filter((message) => message.chat === chat && texts.includes(message.text)).map(({ text }) => text);
    const at = texts.findIndex((text, index) => text !== asked[index]);
    if (at !== -1) wrong.push(`${chat}: ${texts[at]} was begun where ${asked[at]} was due`);
  }
  for (const [id, before] of earlier) {
    const now = ended.get(id);
    if (now !== undefined && JSON.stringify(now) !== JSON.stringify(before))
      wrong.push(`${id}: ended as ${JSON.stringify(before)}, and later as ${JSON.stringify(now)}`);
  }
  return wrong;
}

/** The texts of each chat in the order in which they were first begun. */
function begun(ran: readonly Ran[]): Map<string, string[]> {
  const chats = new Map<string, string[]>();
  for (const { chat, text } of ran) {
    const texts = chats.get(chat) ?? [];
    if (!texts.includes(text)) texts.push(text);
    chats.set(chat, texts);
  }
  return chats;
}
