import { type Forge, type ForgeLink, type ForgeNote, type ForgePlace, sleep } from "@svc/sdk";
import { agentOf, paced, type Shared } from "./connection.ts";
import { newNonce } from "./marker.ts";
import { outgoingText } from "./outgoing-text.ts";
import type { Urgency } from "./pace.ts";
import { commentRef, type OwnComment } from "./rows.ts";

/** A comment that is to be there once, whatever is repeated. */
export interface WantedComment {
  /** Names it for ever: run and part. */
  readonly key: string;
  readonly run: string;
  readonly agent: string;
  /** For the marker: the task, or what else it belongs to. */
  readonly task: string;
  readonly place: ForgePlace;
  readonly text: string;
  readonly told: readonly string[];
  readonly urgency: Urgency;
  /** The note that is answered. */
  readonly reply?: Pick<ForgeNote, "kind" | "id" | "url">;
  /** Makes it in place of a comment: a review. The text that it is given must stand in it. */
  readonly make?: (text: string, signal: AbortSignal) => Promise<ForgeLink>;
}

/** A forge may hand out what was posted a moment before the time it gives. */
const BEFORE_MS = 120_000;

/** Comments of agents: each posted once over crashes and lost answers, and known by its id when its own hook comes in. */
export class OwnComments {
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  get(key: string): Promise<OwnComment | undefined> {
    return this.#shared.rows.comments.get(key).then((doc) => doc?.value);
  }

  /** Whether this id is a comment of ours. */
  async byRef(forge: string, place: ForgePlace, id: string): Promise<OwnComment | undefined> {
    const [doc] = await this.#shared.rows.comments.list({ where: { ref: commentRef(forge, place, id) }, limit: 1 });
    return doc?.value;
  }

  async byNonce(nonce: string): Promise<OwnComment | undefined> {
    const [doc] = await this.#shared.rows.comments.list({ where: { nonce }, limit: 1 });
    return doc?.value;
  }

  /**
   * The comment of that key: the one that is there, or a new one. `adopted`: it was there before and may show another text. A POST has no key
   * of its own, so its nonce is stored first, and looked for where an earlier answer was lost.
   */
  async post(forge: Forge, wanted: WantedComment, signal: AbortSignal): Promise<{ readonly comment: OwnComment; readonly adopted: boolean }> {
    const { rows } = this.#shared;
    const { key, run, agent, place } = wanted;
    const known = await this.get(key);
    if (known?.id !== undefined) return { comment: known, adopted: true };
    const found = known?.posting === undefined ? undefined : await this.#find(forge, known, signal);
    if (known !== undefined && found !== undefined) return { comment: await this.#settle(key, known, found), adopted: true };
    const made: OwnComment = { nonce: known?.nonce ?? newNonce(), forge: forge.name, run, agent, place, at: Date.now() };
    const as = agentOf(forge, agent, place.project);
    const text = this.#text(forge, wanted, made.nonce);
    return paced(this.#shared, forge, as, wanted.urgency, signal, async () => {
      const posting = { ...made, posting: Date.now() };
      await rows.comments.put(key, posting);
      try {
        const make = wanted.make ?? (() => forge.post(place, text, { agent }, wanted.reply === undefined ? {} : { reply: wanted.reply }, signal));
        const link = await make(text, signal);
        return { comment: await this.#settle(key, posting, link), adopted: false };
      } catch (error) {
        const { failure } = error as { failure?: string };
        // Refused for sure: there is nothing to look for.
        if (failure === "retry" || failure === "permanent") await rows.comments.put(key, made);
        throw error;
      }
    });
  }

  /** Shows another text in a comment of ours. */
  async edit(forge: Forge, comment: OwnComment, wanted: Omit<WantedComment, "key" | "reply">, signal: AbortSignal): Promise<void> {
    const { agent, place } = wanted;
    const as = agentOf(forge, agent, place.project);
    const text = this.#text(forge, wanted, comment.nonce);
    await paced(this.#shared, forge, as, wanted.urgency, signal, () => forge.edit(comment.place, comment.id ?? "", text, { agent }, signal));
  }

  #text(forge: Forge, { text, told, agent, task, place }: Omit<WantedComment, "key">, nonce: string): string {
    const words = outgoingText(text, { grammar: forge.grammar, told, secrets: [...forge.webhook.secrets(), ...(forge.secrets?.() ?? [])] });
    return `${words}\n\n${this.#shared.markers.line(forge.name, forge.origin, place, { agent, task, nonce })}`;
  }

  /** The comment with that nonce, asked for twice: a list may be late. */
  async #find(forge: Forge, { nonce, posting = 0, place, agent }: OwnComment, signal: AbortSignal) {
    const { markers, lagMs } = this.#shared;
    const look = async () => {
      const comments = await forge.comments(place, posting - BEFORE_MS, { agent }, signal);
      return comments.find(({ text }) => markers.read(forge.name, forge.origin, place, text)?.nonce === nonce);
    };
    const first = await look();
    if (first !== undefined) return first;
    await sleep(Math.max(0, Math.min(posting + lagMs - Date.now(), lagMs)), signal);
    signal.throwIfAborted();
    return look();
  }

  async #settle(key: string, comment: OwnComment, { id, url }: { readonly id: string; readonly url?: string }): Promise<OwnComment> {
    const { posting: _answered, ...rest } = comment;
    const settled: OwnComment = { ...rest, id, ref: commentRef(comment.forge, comment.place, id), ...(url === undefined ? {} : { url }) };
    await this.#shared.rows.comments.put(key, settled);
    return settled;
  }
}
