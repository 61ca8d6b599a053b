import {
  type ApprovalDecision,
  type Approvals,
  type Claimed,
  type Collection,
  codeOf,
  complete,
  type Media,
  type PluginContext,
  push,
  type QueueWork,
  reasonOf,
  release,
  remove,
} from "@svc/sdk";
import { Batches } from "./batches.ts";
import { quietUntil } from "./quiet-hours.ts";
import { ruleFor } from "./rules.ts";
import type { TriageRule, TriageSettings } from "./settings.ts";
import { type Sent, SyncTool } from "./sync-tool.ts";
import type { SyncedMessage } from "./synced-message.ts";
import { type Chat, REPLIES, type Reply, SENDING, WORK, type Work } from "./triage-work.ts";
import { VERDICT, verdictOf } from "./verdict.ts";
import { type MediaNote, noticeOf, promptFor, questionOf } from "./words.ts";

type Context = PluginContext<TriageSettings>;
type Step<S extends Work["step"]> = Extract<Work, { readonly step: S }>;

/** The kind of its questions. */
const KIND = "phone-triage";
/** Chats that are worked on side by side. */
const PARALLEL = 4;
/** Files of one batch that are fetched. */
const MOST_FILES = 5;
const MOST_FILE_BYTES = 20_971_520;
/** Number of tries of a step that fails for another reason than the agent's work. */
const MOST_TRIES = 12;

/** A reply that waits for a person. */
interface WaitingReply extends Reply {
  readonly digest: string;
  readonly agent: string;
}

/** Takes messages in, has an agent sort them, and does what it says as far as people let it. */
export class Triage {
  readonly #ctx: Context;
  readonly #settings: () => TriageSettings;
  readonly #batches: Batches;
  readonly #tool: SyncTool;
  readonly #replies: Collection<WaitingReply>;
  readonly #sending: Collection<{ readonly at: number }>;
  #work: QueueWork | undefined;
  #heard: Approvals | undefined;

  constructor(ctx: Context, settings: () => TriageSettings) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#batches = new Batches(ctx.store);
    this.#tool = new SyncTool(ctx, () => settings().wacli);
    this.#replies = ctx.store.collection(REPLIES);
    this.#sending = ctx.store.collection(SENDING);
  }

  /** `queued` after the commit; `dropped` where no rule matches, and then nothing of the message is kept anywhere. */
  async take(message: SyncedMessage): Promise<"queued" | "duplicate" | "dropped"> {
    const { rules, batchSeconds } = this.#settings();
    const rule = ruleFor(rules, message);
    if (rule === undefined) return "dropped";
    return (await this.#batches.add(rule, message, batchSeconds)) ? "queued" : "duplicate";
  }

  start(): void {
    this.#work = this.#ctx.store.queue<Work>(WORK).work((item, signal) => this.#step(item, signal), {
      parallel: PARALLEL,
      // Logs contain no message text.
      failed: (error, item, pauseMs) =>
        this.#ctx.log.warn({ step: item?.value.step, batch: item?.value.batch, reason: reasonOf(error), pauseMs }, "triage failed and is tried again"),
    });
    this.listen();
  }

  /** Hears decisions about replies, again when the plugin that asks people was started anew. */
  listen(): void {
    const approvals = this.#ctx.services.get("approvals");
    if (approvals === undefined || approvals === this.#heard) return;
    approvals.onDecided(KIND, (decision) => this.#decided(decision));
    this.#heard = approvals;
  }

  sweep(): Promise<void> {
    return this.#batches.sweep();
  }

  async stop(): Promise<void> {
    await this.#work?.stop();
  }

  async #step(item: Claimed<Work>, signal: AbortSignal): Promise<void> {
    const { value: work } = item;
    try {
      if (work.step === "collect") await this.#collect(item, work, signal);
      else if (work.step === "sort") await this.#sort(item, work, signal);
      else if (work.step === "send") await this.#send(item, work);
      else await this.#notify(work);
    } catch (error) {
      if (signal.aborted || item.attempt < MOST_TRIES || codeOf(error) === "SVC_STORE_CONFLICT") throw error;
      this.#ctx.log.error({ step: work.step, batch: work.batch, reason: reasonOf(error) }, "triage of a batch is given up");
      if (work.step === "tell") return;
      // What people wrote is kept for the agent alone.
      const said = work.step === "collect" ? await this.#batches.removal(work.batch) : [];
      await this.#removeFiles(work.batch);
      const what = work.step === "send" ? "The reply could not be sent" : "Its messages could not be sorted";
      await this.#end(item, [...said, this.#tell(work.batch, "rule" in work ? work.rule : undefined, noticeOf(work, `${what}: ${reasonOf(error)}`))]);
    }
  }

  /** The batch is full: the agent is asked about it. Tried again, it is the same task. */
  async #collect(item: Claimed<Work>, work: Step<"collect">, signal: AbortSignal): Promise<void> {
    const { batch, rule: id, chat } = work;
    await this.#batches.close(id, chat, batch);
    const rule = this.#rule(id);
    const messages = await this.#batches.messages(batch);
    const removal = await this.#batches.removal(batch);
    // The rule was removed or switched off meanwhile: do not show the messages to an agent.
    if (rule === undefined || messages.length === 0) return this.#ctx.store.commit([...removal, complete(WORK, item.id, item.attempt)]);
    const { media, notes } = await this.#files(work, messages, signal);
    const { taskId } = await this.#ctx.tasks.accept({
      entry: "webhook",
      channel: "wacli",
      chat,
      agent: rule.agent,
      sender: { id: "wacli" },
      text: promptFor(work, rule.prompt, messages, notes),
      dedupKey: `phone-triage:${batch}`,
      facts: { rule: id, messages: messages.length },
      options: { output: VERDICT },
      ...(media.length === 0 ? {} : { media }),
    });
    const next: Work = { ...work, step: "sort", task: taskId };
    await this.#ctx.store.commit([...removal, release(WORK, item.id, { delayMs: 0, attempt: item.attempt, value: next })]);
  }

  async #sort(item: Claimed<Work>, work: Step<"sort">, signal: AbortSignal): Promise<void> {
    const { batch, rule: id, task, chat } = work;
    const result = await this.#ctx.tasks.result(task, signal);
    const verdict = verdictOf(result);
    const rule = this.#rule(id);
    await this.#removeFiles(batch);
    const about: Chat = { chat, ...(work.chatName === undefined ? {} : { chatName: work.chatName }) };
    if (rule === undefined) return;
    if ("failed" in verdict)
      return this.#end(item, [this.#tell(batch, id, noticeOf(about, `Its messages could not be sorted (task ${task}): ${verdict.failed}`))]);
    this.#ctx.log.info({ rule: id, batch, task, action: verdict.action }, "a batch of a phone chat is sorted");
    if (verdict.action === "ignore") return;
    if (verdict.action === "notify") return this.#end(item, [this.#tell(batch, id, noticeOf(about, verdict.summary))]);
    const reply: Reply = { ...about, text: verdict.reply ?? "" };
    if (rule.autoAck && this.#settings().allowAutoAck) {
      const send: Work = { ...reply, step: "send", batch, agent: rule.agent };
      return this.#end(item, [push(WORK, `${batch}-send`, send, { group: chat })]);
    }
    await this.#ask(batch, reply, rule.agent, { summary: verdict.summary, trouble: await this.#tool.problem(), rule });
  }

  /** Hands the reply to the program once. Found again after a crash it may have been sent, and a person decides. */
  async #send(item: Claimed<Work>, { batch, agent, chat, chatName, text }: Step<"send">): Promise<void> {
    const reply: Reply = { chat, ...(chatName === undefined ? {} : { chatName }), text };
    let sent: Sent;
    if ((await this.#sending.get(batch)) === undefined) {
      await this.#sending.put(batch, { at: Date.now() }, "absent");
      sent = await this.#tool.send(chat, text);
    } else sent = { state: "unknown", reason: "the daemon ended while it was being sent" };
    this.#ctx.log.info({ batch, state: sent.state }, "a reply for a phone chat was handed to the sync tool");
    if (sent.state !== "sent") {
      const may = sent.state === "unknown" ? "It may have been sent already" : "It could not be sent";
      await this.#ask(batch, reply, agent, { trouble: `${may}: ${sent.reason}. Approve to send it (again).`, again: item.id });
    }
    await this.#end(item, [remove(SENDING, batch)]);
  }

  /** Asks whether the reply shall be sent. The row stands before the question, so that no decision comes too early for it. */
  async #ask(
    batch: string,
    reply: Reply,
    agent: string,
    {
      summary,
      trouble,
      rule,
      again,
    }: { readonly summary?: string; readonly trouble?: string | undefined; readonly rule?: TriageRule; readonly again?: string },
  ): Promise<void> {
    const approvals = this.#ctx.services.get("approvals");
    if (approvals === undefined) throw new Error("no plugin asks people (approvals); the reply waits");
    this.listen();
    const key = again === undefined ? batch : `${batch}+${again}`;
    const digest = await approvals.digest(reply);
    await this.#replies.put(key, { ...reply, digest, agent });
    const until = quietUntil(rule?.quietHours, this.#settings().timezone, Date.now());
    await approvals.ask({
      kind: KIND,
      ...questionOf(reply, summary, trouble),
      digest,
      key,
      requestedBy: `agent ${agent}`,
      ...(until === undefined ? {} : { askAt: until }),
    });
  }

  /** Handed over at least once: without its row the reply is on its way, or was dropped. */
  async #decided({ key = "", digest, state }: ApprovalDecision): Promise<void> {
    const row = await this.#replies.get(key);
    if (row === undefined) return;
    const { digest: kept, agent, ...reply } = row.value;
    const [batch = key] = key.split("+");
    const send: Work = { ...reply, step: "send", batch, agent };
    const sends = state === "approved" && kept === digest ? [push(WORK, `${key}-send`, send, { group: reply.chat })] : [];
    await this.#ctx.store.commit([remove(REPLIES, key, row.version), ...sends]);
  }

  async #notify({ batch, title, text }: Step<"tell">): Promise<void> {
    const notifier = this.#ctx.services.get("notifier");
    if (notifier?.destination() === undefined)
      this.#ctx.log.warn({ batch }, "nobody is told what the agent reports of a phone chat: svc.json has no destination in notifications");
    await notifier?.notify({ title, text, key: `phone-triage:${batch}` });
  }

  #rule(id: string): TriageRule | undefined {
    return this.#settings().rules.find((rule) => rule.id === id && rule.enabled);
  }

  #end(item: Claimed<Work>, ops: Parameters<Context["store"]["commit"]>[0]): Promise<void> {
    return this.#ctx.store.commit([...ops, complete(WORK, item.id, item.attempt)]);
  }

  /** A notice; in quiet hours it waits for their end. */
  #tell(batch: string, rule: string | undefined, { title, text }: ReturnType<typeof noticeOf>) {
    const hours = rule === undefined ? undefined : this.#rule(rule)?.quietHours;
    const now = Date.now();
    const until = quietUntil(hours, this.#settings().timezone, now) ?? now;
    return push(WORK, `${batch}-tell`, { step: "tell", batch, title, text } satisfies Work, { delayMs: until - now });
  }

  async #files(
    work: Step<"collect">,
    messages: readonly SyncedMessage[],
    signal: AbortSignal,
  ): Promise<{ readonly media: readonly Media[]; readonly notes: readonly MediaNote[] }> {
    const media: Media[] = [];
    const notes: MediaNote[] = [];
    for (const [at, { id, media: file }] of messages.entries()) {
      if (file === undefined) notes.push(undefined);
      else if (!this.#settings().describeMedia) notes.push("not fetched");
      else if (media.length >= MOST_FILES) notes.push(`not fetched: more than ${MOST_FILES} files`);
      else if ((file.bytes ?? 0) > MOST_FILE_BYTES) notes.push("not fetched: too large");
      else {
        const got = await this.#tool.fetch(work.chat, id, `${work.batch}-${at}`, signal);
        signal.throwIfAborted();
        notes.push("path" in got ? `file ${media.length + 1}` : `not fetched: ${got.reason}`);
        const { kind, name, type } = file;
        if ("path" in got) media.push({ kind, path: got.path, ...(name === undefined ? {} : { name }), ...(type === undefined ? {} : { type }) });
      }
    }
    return { media, notes };
  }

  async #removeFiles(batch: string): Promise<void> {
    const files = await this.#ctx.files.own.list("media").catch(() => []);
    for (const { name } of files) if (name.startsWith(`${batch}-`)) await this.#ctx.files.own.remove(`media/${name}`);
  }
}
