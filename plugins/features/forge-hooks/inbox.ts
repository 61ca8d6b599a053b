import { append, type Claimed, complete, type Forge, type ForgeNote, put, reasonOf, release } from "@svc/sdk";
import { agentOf, forgeOf } from "./connection.ts";
import { type Deciding, decide, runKey, type Verdict } from "./decide.ts";
import { type Decision, type Incoming, NAMES, objectKey } from "./rows.ts";
import type { Runs } from "./runs.ts";

/** Reasons with which a note to an agent is dropped: published as an event, as every channel does. For other reasons no agent was addressed. */
const DROPPED: ReadonlySet<string> = new Set(["outsider", "bot"]);
/** Tries to complete a note from the forge before it is taken as its hook told it. */
const TRIES = 5;
const ABSENT_MS = 500;
const LONGEST_MS = 30_000;
const WAIT_MS = 1_000;
const KEPT_DECISIONS = 1_000;
const TRIM_EVERY = 200;

/** Works on what came in: in order at one issue, side by side at several. */
export class Inbox {
  readonly #deciding: Deciding;
  readonly #runs: Runs;
  #decisions = 0;

  constructor(deciding: Deciding, runs: Runs) {
    this.#deciding = deciding;
    this.#runs = runs;
  }

  /** Begins to work; ends with the plugin. */
  start(): void {
    const { rows, ctx } = this.#deciding;
    rows.inbox.work((item, signal) => this.#try(item, signal), {
      parallel: 8,
      failed: (error, item, pauseMs) =>
        ctx.log.warn({ forge: item?.value.forge, note: item?.value.note?.url, reason: reasonOf(error), pauseMs }, "a note could not be worked on; tried again"),
    });
  }

  /** A claim that a restart cut short is no try: the pauses grow with what failed alone, and stay short enough for a person who waits. */
  async #try(item: Claimed<Incoming>, signal: AbortSignal): Promise<void> {
    const { forges, rows, ctx } = this.#deciding;
    const { id, attempt, value } = item;
    const tries = (value.tries ?? 0) + 1;
    if (!forges.has(value.forge)) return rows.store.commit([release(NAMES.inbox, id, { delayMs: ABSENT_MS, attempt })]);
    try {
      await this.#take({ ...item, value: { ...value, tries } }, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const delayMs = Math.min(1_000 * 2 ** (tries - 1), LONGEST_MS);
      ctx.log.warn({ forge: value.forge, note: value.note?.url, reason: reasonOf(error), pauseMs: delayMs }, "a note could not be worked on; tried again");
      await rows.store.commit([release(NAMES.inbox, id, { delayMs, attempt, value: { ...value, tries } })]);
    }
  }

  /** Newest first. */
  async decisions(limit: number): Promise<readonly Decision[]> {
    const entries = await this.#deciding.rows.store.journal<Decision>("decisions").tail(limit);
    return entries.map(({ value }) => value).reverse();
  }

  async #take(item: Claimed<Incoming>, signal: AbortSignal): Promise<void> {
    const { forge: name, note, deleted } = item.value;
    const forge = forgeOf(this.#deciding, name);
    if (deleted !== undefined) return this.#runs.deleted(objectKey(forge.name, forge.origin, deleted.place, deleted.note));
    if (note === undefined) return;
    const verdict = await decide(this.#deciding, forge, note, item.value, signal);
    if ("waits" in verdict) return this.#wait(item, note, verdict.waits);
    if ("reason" in verdict) return this.#close(item, forge, note, [], verdict.reason, verdict);
    const as = "starts" in verdict ? (verdict.starts[0]?.agent ?? "") : (verdict.agents[0] ?? forge.agents(note.place.project)[0]?.agent ?? "");
    const whole = await this.#complete(item, forge, note, as, signal);
    if (whole === undefined) return this.#close(item, forge, note, [], "gone", verdict);
    // A hook does not always say the name of who asks; the forge does.
    const actor = [whole.editor, whole.author].find((user) => user?.id === verdict.actor.id) ?? verdict.actor;
    const rest = { ...verdict, actor, right: verdict.right === "write" && whole.request?.fork ? ("report" as const) : verdict.right };
    if ("command" in rest) {
      const done = await this.#runs.command(forge, whole, rest, signal);
      return this.#close(item, forge, whole, [], done, rest);
    }
    const started: string[] = [];
    for (const agent of rest.starts) {
      const id = runKey(forge, whole, agent.agent);
      if (await this.#runs.start(forge, whole, { id, agent: agentOf(forge, agent.agent, whole.place.project), actor: rest.actor, right: rest.right }))
        started.push(agent.agent);
    }
    await this.#close(item, forge, whole, started, started.length > 0 ? undefined : "answered before", rest);
  }

  /** Not a failed try: the item keeps their number. */
  #wait({ id, attempt, value }: Claimed<Incoming>, note: ForgeNote, reason: string): Promise<void> {
    const { rows, ctx } = this.#deciding;
    const delayMs = Math.min(Math.max(WAIT_MS, Date.now() - value.at), LONGEST_MS);
    ctx.log.debug({ forge: value.forge, note: note.url, reason, pauseMs: delayMs }, "a note waits");
    return rows.store.commit([release(NAMES.inbox, id, { delayMs, attempt })]);
  }

  async #complete(
    { value: { tries = 1 } }: Claimed<Incoming>,
    forge: Forge,
    note: ForgeNote,
    agent: string,
    signal: AbortSignal,
  ): Promise<ForgeNote | undefined> {
    try {
      return await forge.complete(note, { agent }, signal);
    } catch (error) {
      if ((error as { failure?: string }).failure === "permanent") return undefined;
      if (tries < TRIES) throw error;
      this.#deciding.ctx.log.warn({ forge: forge.name, note: note.url, reason: reasonOf(error) }, "a note is taken as its hook told it");
      return note;
    }
  }

  /** Stores the known state of the note, the decision for the operator, and the end of the work in one commit. */
  async #close(
    { id, attempt, value: { via } }: Claimed<Incoming>,
    forge: Forge,
    note: ForgeNote,
    agents: readonly string[],
    reason: string | undefined,
    verdict: Exclude<Verdict, { readonly waits: string }>,
  ): Promise<void> {
    const { rows, ctx } = this.#deciding;
    const object = objectKey(forge.name, forge.origin, note.place, note);
    const told = (await rows.objects.get(object))?.value.hash === verdict.seen?.hash;
    // Our own edits come several a minute, and a list shows all that was said: neither is news to an operator.
    const dull = (reason === "own comment" && note.edited) || (reason === "no agent is mentioned" && via === "backfill");
    const decision: Decision = { at: Date.now(), forge: forge.name, url: note.url, via, agents, ...(reason === undefined ? {} : { reason }) };
    const journal = rows.store.journal<Decision>("decisions");
    await rows.store.commit([
      complete(NAMES.inbox, id, attempt),
      ...(verdict.seen === undefined ? [] : [put(NAMES.objects, object, verdict.seen)]),
      ...(dull ? [] : [append("decisions", decision)]),
    ]);
    ctx.log[dull ? "debug" : "info"](
      { forge: forge.name, note: note.url, via, agents, ...(reason === undefined ? {} : { reason }) },
      reason === undefined ? "a note starts agents" : "a note was not taken",
    );
    const [agentId] = verdict.seen?.names ?? [];
    if (!told && reason !== undefined && agentId !== undefined && DROPPED.has(reason))
      ctx.events.root(() =>
        ctx.events.publish({
          kind: "message",
          type: "message:dropped",
          agentId,
          summary: `${forge.name} message dropped: ${reason}`,
          ref: `${note.kind}-${note.id}`,
          data: { channel: forge.name, account: agentId, reason },
        }),
      );
    this.#decisions += 1;
    if (this.#decisions % TRIM_EVERY === 0) await journal.trim(KEPT_DECISIONS);
  }
}
