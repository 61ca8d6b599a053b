import { type Claimed, channelError, type Forge, type ForgePlace, type Outgoing, type Receipt, reasonOf, release, type TaskResult } from "@svc/sdk";
import { agentOf, forgeOf, paced, type Shared } from "./connection.ts";
import { outgoingText, piecesOf } from "./outgoing-text.ts";
import type { OwnComments, WantedComment } from "./own-comments.ts";
import { digest, NAMES, placeWords, type Run } from "./rows.ts";
import { DELETION, ended, type Runs } from "./runs.ts";
import { editPause, headLine, workingText } from "./status-text.ts";

/** A later answer than this is a comment of its own: edits send no notification. */
const LONG_MS = 120_000;
const TICK_MS = 5_000;
/** When to look again whether an earlier comment is there. */
const TURN_MS = 200;
/** A task has ended and its answer does not come: nothing is waited for any more. */
const UNANSWERED_MS = 24 * 3_600_000;
/** Signs that a comment has beside the answer itself. */
const FRAME_CHARS = 1_000;

/** Comments of the runs on the forge: one comment that grows, the answer in it or after it, the eyes reaction. */
export class Speaker {
  readonly #shared: Shared & { readonly comments: OwnComments };
  readonly #runs: Runs;

  constructor(shared: Shared & { readonly comments: OwnComments }, runs: Runs) {
    this.#shared = shared;
    this.#runs = runs;
  }

  /** Brings the comments of live runs up to date; ends with the plugin. */
  start(): void {
    const { rows, ctx } = this.#shared;
    rows.store.queue<{ run: string }>(NAMES.status).work((item, signal) => this.#tick(item, signal), {
      parallel: 8,
      failed: (error, item, pauseMs) =>
        ctx.log.warn({ run: item?.value.run, reason: reasonOf(error), pauseMs }, "a status comment could not be shown; tried again"),
    });
  }

  async #tick(item: Claimed<{ run: string }>, signal: AbortSignal): Promise<void> {
    const id = item.value.run;
    const known = await this.#runs.get(id);
    if (known === undefined || known.live === 0) return;
    if (known.state === "accepting") await this.#runs.accept(known);
    const delayMs = await this.#runs.exclusive(id, async () => {
      const run = await this.#runs.get(id);
      if (run === undefined || run.live === 0) return undefined;
      const forge = this.#shared.forges.get(run.forge);
      if (forge === undefined) return TICK_MS;
      // Each look is a claim: the queue's own pauses, which grow with those, would be minutes for a run that takes long.
      return this.#bring(forge, run, signal).catch((error: unknown) => {
        if (signal.aborted) throw error;
        this.#shared.ctx.log.warn({ run: id, reason: reasonOf(error) }, "a status comment could not be shown; tried again");
        return TICK_MS;
      });
    });
    if (delayMs !== undefined) await this.#shared.rows.store.commit([release(NAMES.status, item.id, { delayMs, attempt: item.attempt })]);
  }

  /** One look at a run. Answers when to look again; undefined when its comment is as it stays. */
  async #bring(forge: Forge, before: Run, signal: AbortSignal): Promise<number | undefined> {
    const { run, result } = await this.#runs.refreshed(before);
    if (!run.comments || run.mute !== undefined) return this.#silently(run, result);
    // No answer comes of these.
    if (result !== undefined && (run.state === "silent" || run.stoppedBy === DELETION)) {
      await this.#show(forge, run, headLine(run, Date.now()), signal);
      await this.#done(run);
      return undefined;
    }
    if (result !== undefined && run.state !== "waiting") {
      // Its answer is on its way through the outbox.
      if (Date.now() - (run.endedAt ?? 0) > UNANSWERED_MS) return this.#silently(run, result);
      await this.#runs.save(run);
      return TICK_MS;
    }
    const now = Date.now();
    const text = workingText(run, now);
    const shown = digest(text);
    const nextAt = (run.shownAt ?? 0) + editPause(now - (run.startedAt ?? run.at));
    if (shown === run.shown || (run.shownAt !== undefined && nextAt > now)) {
      await this.#runs.save(run);
      return Math.min(TICK_MS, Math.max(1, nextAt - now));
    }
    if (run.shown === undefined && (await this.#mustWait(run))) {
      await this.#runs.save(run);
      return TURN_MS;
    }
    const muted = await this.#show(forge, run, text, signal);
    await this.#runs.save({ ...run, shown, shownAt: Date.now(), ...(muted === undefined ? {} : { mute: muted }) });
    return TICK_MS;
  }

  /** Comments of one thread stand in the order of what they answer: an earlier one comes first, unless it cannot come for long. */
  async #mustWait({ id, thread, at, note }: Run): Promise<boolean> {
    const live = await this.#shared.rows.runs.list({ where: { thread, live: 1 }, limit: 100 });
    return live.some(
      ({ value: other }) =>
        other.id !== id &&
        other.comments &&
        other.mute === undefined &&
        other.shown === undefined &&
        (other.note.createdAt < note.createdAt || (other.note.createdAt === note.createdAt && other.at < at)) &&
        Date.now() - other.at < LONG_MS,
    );
  }

  async #silently(run: Run, result: TaskResult | undefined): Promise<number | undefined> {
    if (result === undefined) {
      await this.#runs.save(run);
      return TICK_MS;
    }
    await this.#done(run);
    return undefined;
  }

  async #done(run: Run): Promise<void> {
    await this.#runs.save({ ...run, live: 0 });
    this.#runs.forget(run);
  }

  /** The status comment with that text. Answers why there can be none, where there can be none. */
  async #show(forge: Forge, run: Run, text: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const wanted = this.#wanted(run, "status", text, "first");
      const { comment, adopted } = await this.#shared.comments.post(forge, wanted, signal);
      if (adopted) await this.#shared.comments.edit(forge, comment, { ...wanted, urgency: "edit" }, signal);
      return undefined;
    } catch (error) {
      if ((error as { failure?: string }).failure !== "permanent") throw error;
      this.#shared.ctx.log.warn(
        { forge: forge.name, note: run.note.url, reason: reasonOf(error) },
        "the agent cannot comment there; its answer stands in the trace",
      );
      return reasonOf(error);
    }
  }

  #wanted(run: Run, part: string, text: string, urgency: WantedComment["urgency"]): WantedComment {
    const { id, agent, place, note, asker, taskId } = run;
    return { key: `${id}/${part}`, run: id, agent, task: taskId ?? id, place, text, told: [asker.login], urgency, reply: note };
  }

  /** Sends a delivery of the outbox: an answer into the comment of its run, else a comment of its own. The same key twice is one comment. */
  async send(name: string, out: Outgoing, signal: AbortSignal): Promise<Receipt> {
    const forge = forgeOf(this.#shared, name);
    const id = out.target.thread;
    const known = id === undefined ? undefined : await this.#runs.get(id);
    if (known === undefined) return this.#proactive(forge, out, signal);
    return this.#runs.exclusive(known.id, async () => {
      const run = (await this.#runs.get(known.id)) ?? known;
      if (!run.comments) {
        this.#shared.ctx.log.info({ forge: name, note: run.note.url, agent: run.agent }, "an answer is not posted: autoReplyLegacy or forgeAutoReply is false");
        await this.#done(run);
        return {};
      }
      if (run.mute !== undefined) throw channelError("permanent", run.mute);
      const index = Number(out.key.slice(out.key.lastIndexOf("/") + 1)) || 0;
      return index === 0 && out.key.startsWith(`${run.taskId}/`)
        ? this.#answer(forge, run, out.text, signal).catch((error) => this.#refused(run, error))
        : this.#further(forge, run, `part-${digest(out.key).slice(0, 12)}`, out.text, signal);
    });
  }

  async #answer(forge: Forge, before: Run, words: string, signal: AbortSignal): Promise<Receipt> {
    const result = await this.#runs.result(before.taskId ?? "");
    const { run: refreshed } = await this.#runs.refreshed(before);
    const run = result === undefined ? refreshed : ended(refreshed, result);
    const state = run.state === "silent" || run.state === "waiting" ? "answered" : run.state;
    const final: Run = { ...run, state };
    if (run.shown === undefined && (await this.#mustWait(run))) throw channelError("retry", "an earlier comment of the thread comes first", TURN_MS);
    const [first = "", ...rest] = this.#pieces(forge, run, words);
    const head = headLine(final, Date.now());
    const long = (final.endedAt ?? Date.now()) - (final.startedAt ?? final.at) > LONG_MS;
    const status = await this.#shared.comments.get(`${run.id}/status`);
    let receipt: Receipt;
    if (long && status?.id !== undefined) {
      const { comment } = await this.#shared.comments.post(forge, this.#wanted(final, "answer", first, "answer"), signal);
      const link = comment.url ?? forge.url(run.place, comment.id);
      await this.#edit(forge, final, status, `${head} · [answer](${link})`, signal);
      receipt = receiptOf(comment.id);
    } else receipt = await this.#intoStatus(forge, final, `${head}\n\n${first}`, signal);
    for (const [at, piece] of rest.entries()) await this.#further(forge, final, `answer-${at + 1}`, piece, signal);
    await this.#done(final);
    return receipt;
  }

  /** The answer of a run could not be posted. Where it never can be the run is muted, so that nothing waits for its answer. Throws `error`. */
  async #refused(run: Run, error: unknown): Promise<never> {
    if ((error as { failure?: string }).failure === "permanent") await this.#runs.save({ ...run, mute: reasonOf(error) });
    throw error;
  }

  /** The answer replaces the steps; where somebody took the comment away, it is a new one. */
  async #intoStatus(forge: Forge, run: Run, text: string, signal: AbortSignal): Promise<Receipt> {
    const wanted = this.#wanted(run, "status", text, "answer");
    const { comment, adopted } = await this.#shared.comments.post(forge, wanted, signal);
    if (!adopted || (await this.#edit(forge, run, comment, text, signal))) return receiptOf(comment.id);
    const again = await this.#shared.comments.post(forge, this.#wanted(run, "answer", text, "answer"), signal);
    return receiptOf(again.comment.id);
  }

  /** False when the comment is gone. */
  async #edit(forge: Forge, run: Run, comment: Parameters<OwnComments["edit"]>[1], text: string, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#shared.comments.edit(forge, comment, this.#wanted(run, "status", text, "answer"), signal);
      return true;
    } catch (error) {
      if ((error as { failure?: string }).failure !== "permanent") throw error;
      return false;
    }
  }

  async #further(forge: Forge, run: Run, part: string, text: string, signal: AbortSignal): Promise<Receipt> {
    let receipt: Receipt = {};
    for (const [at, piece] of this.#pieces(forge, run, text).entries()) {
      const { comment } = await this.#shared.comments.post(forge, this.#wanted(run, at === 0 ? part : `${part}-${at}`, piece, "answer"), signal);
      receipt = receiptOf(comment.id);
    }
    return receipt;
  }

  /** Split the final text: the rules make it longer. */
  #pieces(forge: Forge, { asker }: Run, words: string): readonly string[] {
    const rules = { grammar: forge.grammar, told: [asker.login], secrets: [...forge.webhook.secrets(), ...(forge.secrets?.() ?? [])] };
    return piecesOf(outgoingText(words, rules), forge.limits.maxChars - FRAME_CHARS);
  }

  /** To `group/project#12`: what `POST /send` and plugins say of themselves. */
  async #proactive(forge: Forge, out: Outgoing, signal: AbortSignal): Promise<Receipt> {
    const place = await this.#placeOf(forge, out.target.chat, signal);
    const agent = out.agent ?? out.target.account ?? forge.agents(place.project)[0]?.agent ?? "";
    const task = digest(out.key).slice(0, 24);
    const wanted: WantedComment = { key: `out/${out.key}`, run: "", agent, task, place, text: out.text, told: [], urgency: "answer" };
    return receiptOf((await this.#shared.comments.post(forge, wanted, signal)).comment.id);
  }

  async #placeOf(forge: Forge, chat: string, signal: AbortSignal): Promise<ForgePlace> {
    const [, path = "", sign = "", id = ""] = /^(.{1,255})([#!@])(\w{1,64})$/.exec(chat) ?? [];
    const known = (await this.#shared.rows.projects.list({ limit: 1000 }))
      .map(({ value }) => value)
      .find((one) => one.forge === forge.name && one.path === path);
    const project = known ?? (await forge.projects(signal)).find((one) => one.path === path);
    if (project === undefined)
      throw channelError(
        "permanent",
        `'${chat}' is no place on ${forge.name}: write group/project#12, !12 for a request, @sha for a commit, of a project that is known here`,
      );
    return {
      project: { id: project.id, path: project.path, private: project.private },
      kind: sign === "#" ? "issue" : sign === "!" ? "request" : "commit",
      id,
    };
  }

  /** The eye on the note of a run, as its agent. */
  async eye(name: string, id: string | undefined, signal: AbortSignal): Promise<void> {
    const forge = forgeOf(this.#shared, name);
    const run = id === undefined ? undefined : await this.#runs.get(id);
    if (run === undefined || run.askedBy !== undefined) return;
    const as = agentOf(forge, run.agent, run.place.project);
    await paced(this.#shared, forge, as, "eye", signal, () => forge.eye(run.place, run.note, { agent: run.agent }, signal));
  }

  /** Where a run is, for people. */
  words(run: Run): string {
    return `${placeWords(run.place)} ${headLine(run, Date.now()).replaceAll("**", "")}`;
  }
}

const receiptOf = (id: string | undefined): Receipt => (id === undefined ? {} : { platformId: id });
