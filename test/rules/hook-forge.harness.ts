import { createHmac, randomUUID } from "node:crypto";
import type { Kernel } from "@svc/kernel";
import {
  channelError,
  definePlugin,
  type Forge,
  type ForgeAgent,
  type ForgeCaller,
  type ForgeComment,
  type ForgeHandle,
  type ForgeNote,
  type ForgePlace,
  type ForgeRight,
  type ForgeUser,
  type MentionGrammar,
  type Plugin,
  SIGNATURES,
  type TierEvent,
} from "@svc/sdk";
import { vi } from "vitest";
import { forgeHooks } from "../../plugins/features/forge-hooks/index.ts";
import type { Decision } from "../../plugins/features/forge-hooks/rows.ts";
import { baseOf, type RunOptions, runKernel } from "../kit/kernel.ts";
import { type Scripted, scriptedTier } from "../kit/scripted.ts";

/** As one of the forges reads names. */
const GRAMMAR: MentionGrammar = {
  first: "A-Za-z0-9_.",
  rest: "A-Za-z0-9_.\\-",
  last: "A-Za-z0-9_\\-",
  notBefore: "\\/",
  notAfter: "@\\/",
  suffixes: [".git"],
  dotted: false,
  fencedQuotes: true,
};
const PROJECT = { id: "7", path: "team/app", private: false };

/** A comment as the forge has it, with what a test asks about it. */
export interface Posted extends ForgeComment {
  readonly place: ForgePlace;
  readonly as: string;
  /** Each text that it showed, oldest first. */
  readonly texts: string[];
}

/** How the next call goes wrong: before or after its effect. */
interface Fault {
  readonly call: "post" | "edit" | "right" | "eye" | "comments";
  readonly failure: "retry" | "permanent" | "unknown";
  readonly after?: true;
  readonly retryAfterMs?: number;
}

/** A forge in memory, for the rules of what all forges share; the two real ones are driven over HTTP by their channels' tests. */
export class MemoryForge implements Forge {
  readonly name: string;
  readonly origin = "https://forge.example";
  readonly grammar = GRAMMAR;
  readonly limits = { maxChars: 10_000, contentPerMinute: 100_000 };
  readonly lists = [{ name: "notes", of: "project" as const, quick: true }];
  readonly webhook: Forge["webhook"];
  readonly posted: Posted[] = [];
  readonly eyes: { readonly id: string; readonly as: string }[] = [];
  readonly acts: { readonly act: string; readonly as: string; readonly what: unknown }[] = [];
  readonly faults: Fault[] = [];
  /** What people wrote, for lists. */
  readonly written: ForgeNote[] = [];
  readonly rights = new Map<string, ForgeRight>();
  readonly gone = new Set<string>();
  people: ForgeAgent[];
  /** Lists show what was written. */
  listed = false;
  secret: string | undefined = "a-forge-secret";
  bots = new Set<string>();
  #ids = 1_000;

  constructor(name = "forge_x", people: readonly string[] = ["my-agent", "my-agent-2"]) {
    this.name = name;
    this.webhook = {
      schemes: [SIGNATURES.forge],
      secrets: () => (this.secret === undefined ? [] : [this.secret]),
      setting: `channels.${name}.webhookSecret`,
      port: 0,
      host: "127.0.0.1",
    };
    this.people = people.map((agent, at) => ({
      agent,
      names: [agent],
      user: { id: `${900 + at}`, login: agent },
      shared: false,
      token: `token of ${agent}`,
      autoReply: true,
    }));
  }

  /** Nothing is delivered yet. */
  write(text: string, facts: Partial<ForgeNote> = {}): ForgeNote {
    this.#ids += 1;
    const note: ForgeNote = {
      place: { project: PROJECT, kind: "issue", id: "12" },
      kind: "note",
      id: `${this.#ids}`,
      author: { id: "1", login: "ann", bot: false },
      text,
      createdAt: Date.now(),
      updatedAt: Date.now(),
      edited: false,
      url: `https://forge.example/team/app/12#${this.#ids}`,
      title: "A title",
      ...facts,
    };
    this.written.push(note);
    return note;
  }

  comment(id: string): Posted {
    const found = this.posted.find((one) => one.id === id);
    if (found === undefined) throw new Error(`no comment ${id}`);
    return found;
  }

  read(_headers: unknown, body: unknown): ReturnType<Forge["read"]> {
    const { kind, note } = body as { kind: string; note: ForgeNote };
    if (kind === "note") return { kind: "notes", notes: [note] };
    if (kind === "deleted") return { kind: "deleted", place: note.place, note };
    return { kind: "ignored", reason: "kind" };
  }
  agents = (): readonly ForgeAgent[] => this.people;
  isBot = async (user: ForgeUser): Promise<boolean> => this.bots.has(user.login);
  async right(_project: unknown, user: ForgeUser): Promise<ForgeRight> {
    this.#fault("right");
    return this.rights.get(user.login) ?? "write";
  }
  complete = async (note: ForgeNote): Promise<ForgeNote | undefined> => (this.gone.has(note.id) ? undefined : note);
  async post(place: ForgePlace, text: string, { agent }: ForgeCaller): Promise<{ id: string; url: string }> {
    this.#fault("post");
    this.#ids += 1;
    const made: Posted = {
      id: `${this.#ids}`,
      text,
      author: this.people.find((one) => one.agent === agent)?.user ?? { id: "0", login: "?" },
      createdAt: Date.now(),
      url: `https://forge.example/team/app/12#${this.#ids}`,
      place,
      as: agent,
      texts: [text],
    };
    this.posted.push(made);
    this.#fault("post", true);
    return { id: made.id, url: made.url ?? "" };
  }
  async edit(_place: ForgePlace, id: string, text: string, { agent }: ForgeCaller): Promise<void> {
    this.#fault("edit");
    const comment = this.comment(id);
    if (comment.as !== agent) throw channelError("permanent", "not yours");
    Object.assign(comment, { text });
    comment.texts.push(text);
    this.#fault("edit", true);
  }
  async comments(place: ForgePlace, since: number): Promise<readonly ForgeComment[]> {
    this.#fault("comments");
    return this.posted.filter((one) => one.place.id === place.id && one.createdAt >= since);
  }
  async eye(_place: ForgePlace, { id }: { id: string }, { agent }: ForgeCaller): Promise<void> {
    this.#fault("eye");
    this.eyes.push({ id, as: agent });
  }
  media({ text }: ForgeNote): ReturnType<Forge["media"]> {
    return [...text.matchAll(/!\[\]\(\/uploads\/(\w+)\)/g)].map(([, handle = ""]) => ({ kind: "image", handle, name: `${handle}.png` }));
  }
  async download(handle: string, { agent }: ForgeCaller): Promise<{ data: Uint8Array; type: string }> {
    this.acts.push({ act: "download", as: agent, what: handle });
    const page = new TextEncoder().encode("<!DOCTYPE html><title>Sign in</title>");
    return { data: handle === "login" ? page : Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1]), type: "image/png" };
  }
  projects = async () => [PROJECT];
  async *changed({ since }: { since: number }): AsyncIterable<ForgeNote> {
    if (!this.listed) return;
    const own: ForgeNote[] = this.posted.map((one) => ({
      ...one,
      kind: "note" as const,
      updatedAt: one.createdAt,
      edited: false,
      url: one.url ?? "",
    }));
    yield* [...this.written, ...own].filter(({ updatedAt }) => updatedAt >= since).sort((left, right) => left.updatedAt - right.updatedAt);
  }
  async label(_place: ForgePlace, change: object, { agent }: ForgeCaller): Promise<void> {
    this.acts.push({ act: "label", as: agent, what: change });
  }
  async openRequest(_project: unknown, draft: object, { agent }: ForgeCaller): Promise<{ id: string; number: string; url: string }> {
    this.acts.push({ act: "request", as: agent, what: draft });
    return { id: "55", number: "5", url: "https://forge.example/team/app/r5" };
  }
  async review(place: ForgePlace, draft: { text: string }, as: ForgeCaller): Promise<{ id: string; url: string }> {
    this.acts.push({ act: "review", as: as.agent, what: draft });
    return this.post(place, draft.text, as);
  }
  url = (_place: ForgePlace, id = ""): string => `https://forge.example/team/app/12#${id}`;

  #fault(call: Fault["call"], after?: true): void {
    const at = this.faults.findIndex((one) => one.call === call && one.after === after);
    if (at === -1) return;
    const [fault] = this.faults.splice(at, 1);
    throw channelError(fault?.failure ?? "unknown", `${call} failed`, fault?.retryAfterMs);
  }
}

/** The channel plugin of a forge in memory. */
export function channelOf(forge: MemoryForge): Plugin<never> {
  return definePlugin({
    kind: "channel",
    name: forge.name.replaceAll("_", "-"),
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: ["services"],
    setup(ctx) {
      let handle: ForgeHandle | undefined;
      const connected = (): ForgeHandle => {
        if (handle === undefined) throw channelError("retry", `${forge.name} has not started`);
        return handle;
      };
      const channel = ctx.provide.channel({
        name: forge.name,
        traits: { maxChars: forge.limits.maxChars, unit: "codepoint", dialect: "markdown", threads: true, reactions: true, ack: "eyes", keyed: true },
        send: async (out, signal) => connected().send(out, signal),
        react: async (...given) => connected().react(...given),
        fetchMedia: async (...given) => connected().fetchMedia(...given),
      });
      return {
        async start() {
          handle = await ctx.services.get("forges")?.connect(forge);
          channel.ready();
          handle?.ready();
        },
        async stop() {
          await handle?.disconnect();
        },
      };
    },
  }) as unknown as Plugin<never>;
}

/** Posts a delivery to the receiver of a kernel, signed unless told otherwise. */
export async function deliver(
  kernel: Kernel,
  forge: MemoryForge,
  body: object | string,
  headers?: Record<string, string>,
): Promise<{ status: number; code?: string }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const signature = `sha256=${createHmac("sha256", forge.secret ?? "")
    .update(text)
    .digest("hex")}`;
  const response = await fetch(`${receiverOf(kernel)}/webhook/${forge.name}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-delivery": randomUUID(), ...(headers ?? { "x-forge-signature-256": signature }) },
    body: text,
  });
  const answer = response.status === 204 ? {} : ((await response.json()) as object);
  return { status: response.status, ...answer };
}

/** Where the receiver listens. */
export function receiverOf(kernel: Kernel): string {
  const address = kernel.servers.find(({ name }) => name === "forge");
  if (address === undefined) throw new Error("the receiver does not listen");
  return `http://${address.host}:${address.port}`;
}

/** Asks again until it holds. */
export const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });

/** What a note said, of the prompt that it became. */
export const wordsOf = (prompt: string): string => prompt.split("\n").slice(0, -1).join("\n").split("\n\n").slice(2).join("\n\n");

const quiet = async function* (): AsyncIterable<TierEvent> {
  yield { type: "done" };
};
/** A scripted tier that is asked the words of the note behind `@my-agent`: `@my-agent hold`. `quiet` is answered by nothing. */
export function noteTier(): Scripted {
  const inner = scriptedTier("scripted", { enforcesAutonomy: true });
  const plugin = definePlugin({
    ...inner.plugin,
    setup: (ctx) =>
      inner.plugin.setup({
        ...ctx,
        provide: {
          ...ctx.provide,
          tier: (tier) =>
            ctx.provide.tier({
              ...tier,
              run(turn, context, signal) {
                const prompt = wordsOf(context.prompt).replace(/^@my-agent\S* /, "");
                return prompt === "quiet" ? quiet() : tier.run(turn, { ...context, prompt }, signal);
              },
            }),
        },
      }),
  });
  return {
    ...inner,
    plugin,
    get held() {
      return inner.held;
    },
  };
}

/** A kernel with the agents `my-agent` and `my-agent-2`, the receiver, and this forge. */
export async function runForge(forge = new MemoryForge(), agents: Readonly<Record<string, object>> = {}, options: RunOptions = {}) {
  const tier = options.tier ?? scriptedTier("scripted", { enforcesAutonomy: true });
  const agent = (id: string) => ({ name: "Agent", workspace: "./w", tier: "scripted", ...agents[id] });
  const running = await runKernel({
    ...options,
    tier,
    inline: [forgeHooks({ lagMs: 20, port: 0 }) as unknown as Plugin<never>, channelOf(forge)],
    listen: true,
    config: { node: { id: "n1", name: "N", bind: "127.0.0.1:0" }, agents: { "my-agent": agent("my-agent"), "my-agent-2": agent("my-agent-2") } },
  });
  const { kernel } = running;
  return {
    ...running,
    tier,
    forge,
    hook: (note: ForgeNote) => deliver(kernel, forge, { kind: "note", note }),
    /** What became of each note, oldest first: agents, or the reason. */
    decided: async () => (await decisionsOf(kernel)).map(({ agents: started, reason }) => reason ?? started.join("+")).reverse(),
  };
}

/** Newest first. */
export async function decisionsOf(kernel: Kernel): Promise<readonly Decision[]> {
  return ((await (await fetch(`${baseOf(kernel)}/forges?limit=500`)).json()) as { decisions: readonly Decision[] }).decisions;
}

/** The hook that the forge sends for a comment of its own. */
export const hookOf = ({ id, text, author, place, url, createdAt }: Posted, facts: Partial<ForgeNote> = {}): ForgeNote => ({
  id,
  text,
  author,
  place,
  url: url ?? "",
  createdAt,
  updatedAt: createdAt,
  kind: "note",
  edited: false,
  ...facts,
});
