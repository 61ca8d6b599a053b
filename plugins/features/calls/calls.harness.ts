import type { CallMedia, CallRequest, CallSettings, Choice, Inbound, Jobs, Message, Store, TaskResult } from "@svc/sdk";
import { createFakeContext, createFakeTasks, createMemoryFiles, createMemoryStore } from "@svc/sdk/testing";
import plugin from "./index.ts";
import { openCalls } from "./opened.ts";
import { placingRoutes } from "./placing-routes.ts";
import { callRoutes } from "./routes.ts";
import type { CallsSettings } from "./settings.ts";

/** A clock that stands until it is moved: what is due on the way runs in order. */
export class TestClock implements Jobs {
  time = Date.parse("2026-05-04T10:00:00Z");
  #jobs: { at: number; every?: number; run: () => unknown }[] = [];
  readonly now = (): number => this.time;

  /** Timers that wait. */
  get waiting(): number {
    return this.#jobs.length;
  }

  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      const next = this.#jobs.filter(({ at }) => at <= until).sort((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.time = Math.max(this.time, next.at);
      if (next.every === undefined) this.#jobs = this.#jobs.filter((job) => job !== next);
      else next.at += next.every;
      await next.run();
      await settled();
    }
    this.time = until;
    await settled();
  }

  #add(job: { at: number; every?: number; run: () => unknown }): () => void {
    this.#jobs.push(job);
    return () => {
      this.#jobs = this.#jobs.filter((one) => one !== job);
    };
  }

  cron = (): (() => void) => () => {};
  after = (ms: number, run: () => void) => this.#add({ at: this.time + ms, run });
  at = (time: Date | number, run: () => unknown) => this.#add({ at: Number(time), run });
  every = (ms: number, run: () => unknown) => this.#add({ at: this.time + ms, every: ms, run });
  next = async () => [];
  missed = async () => [];
}

/** Whatever waits for memory alone has happened then. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const OFFER = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n";

/** The media of calls, and what was asked of it. */
export function fakeMedia(over: Partial<CallSettings> = {}) {
  const opened: (CallRequest & { closed?: string; candidates: unknown[] })[] = [];
  const settings: CallSettings = {
    allowedCallers: [],
    ringNotify: [
      { channel: "chat", chatId: "7" },
      { channel: "mail", chatId: "ann" },
    ],
    callUrlBase: "https://svc.example/",
    camera: {
      width: 1280,
      height: 720,
      frameRate: 15,
      maxSeconds: 600,
      bot: { frameIntervalSeconds: 0, maxSessionMinutes: 10, maxFrameEdge: 1024, keepFrames: false },
    },
    bot: { enabled: true, defaultAgentId: "ada", transcriptChannel: { channel: "notes", chatId: "1" }, maxCallMinutes: 30 },
    ...over,
  };
  const state: { refuses?: Error; lastWords?: string } = {};
  const media: CallMedia = {
    async open(request) {
      if (state.refuses !== undefined) throw state.refuses;
      const end = { ...request, candidates: [] as unknown[] } as (typeof opened)[number];
      opened.push(end);
      return {
        answer: `v=0\r\nanswer ${request.id}`,
        candidate: async (candidate) => void end.candidates.push(candidate),
        restart: async (offer) => `v=0\r\nagain ${offer.length}`,
        async close(reason) {
          if (state.lastWords !== undefined && end.closed === undefined) request.onText?.({ atMs: 9_000, durationMs: 1, text: state.lastWords });
          end.closed = reason;
        },
        stats: () => ({ rtpIn: 0, rtpOut: 0, decodedMs: 0, waitingMs: 0 }),
      };
    },
    iceServers: () => [{ urls: "turn:relay.example:3478", username: "u", credential: "the-password-of-the-relay" }],
    settings: () => settings,
  };
  return { media, opened, state, settings };
}

/** The plugin with its clock, store and media; `store` and `files` outlive it for a second start. */
export function stage({
  calls = {},
  rules = {},
  store = createMemoryStore(),
  clock = new TestClock(),
  content = new Map<string, string | Uint8Array>(),
  answer,
}: {
  calls?: Partial<CallsSettings>;
  rules?: Partial<CallSettings>;
  store?: Store;
  clock?: TestClock;
  content?: Map<string, string | Uint8Array>;
  answer?: (message: Message) => Partial<TaskResult> | Promise<Partial<TaskResult>>;
} = {}) {
  const far = fakeMedia(rules);
  const settings: CallsSettings = { allow: ["ada"], maxPerHour: 3, ringSeconds: 45, maxCallMinutes: 30, ringSound: "Submarine", summary: true, ...calls };
  const tasks = createFakeTasks(answer ?? (({ channel }) => ({ reply: channel === "call-summary" ? "They agreed on Friday." : "I see a cat." })));
  const ctx = createFakeContext(plugin, {
    config: settings,
    agents: [{ id: "ada", name: "Ada" }, { id: "ben" }],
    services: { "call-media": far.media },
    store,
    files: createMemoryFiles(content),
    tasks,
    ...({ jobs: clock } as object),
  });
  const opened = openCalls(ctx, () => settings, clock.now);
  for (const route of [...placingRoutes(async () => opened), ...callRoutes(async () => opened, ctx)]) ctx.provide.route(route);
  const post = (path: string, body: unknown = {}, more: object = {}) => ctx.request("POST", path, { body, ...more });
  const as = (bearer: string, more: object = {}) => ({ headers: { authorization: `Bearer ${bearer}` }, ...more });
  /** Somebody calls the agent, and joins with the link. */
  async function joined(body: object = { to: "ada", by: "Ann" }) {
    const placed = (await post("/calls", body)).body as { call: { id: string }; url: string };
    const { id } = placed.call;
    const { bearer } = (await post(`/calls/${id}/join`, { code: placed.url.split("#")[1] })).body as { bearer: string };
    return { id, bearer };
  }
  /** The same, and it runs. */
  async function running(body?: object) {
    const { id, bearer } = await joined(body);
    const answer = await post(`/calls/${id}/answer`, { offer: OFFER }, as(bearer));
    const request = far.opened.at(-1) as CallRequest & { closed?: string; candidates: unknown[] };
    return { id, bearer, answer, request };
  }
  const press = (id: string, choice: string, sender = { id: "5", name: "Ann" }) =>
    opened.chatAnswer({ id: "task_1", channel: "chat", chat: "7", sender, text: "", choice: { delivery: "x", id: `${id}.${choice}` } } as unknown as Inbound);
  const sentTo = (channel: string) => tasks.delivered.filter(({ target }) => target.channel === channel).map(({ text }) => text);
  const choicesOf = (channel: string): readonly Choice[] => tasks.delivered.find(({ target, choices }) => target.channel === channel && choices)?.choices ?? [];
  return { ctx, opened, far, tasks, clock, store, content, post, as, joined, running, press, sentTo, choicesOf, settings };
}

/** A JPEG of that size, as far as its header goes. */
export function jpeg(width: number, height: number): Uint8Array {
  const size = Buffer.alloc(4);
  size.writeUInt16BE(height, 0);
  size.writeUInt16BE(width, 2);
  return Buffer.concat([
    Buffer.from("ffd8ffe000104a46494600010100000100010000ffc0001108", "hex"),
    size,
    Buffer.from("03012200021101031101ffda000c03010002110311003f00", "hex"),
    Buffer.alloc(64, 7),
    Buffer.from("ffd9", "hex"),
  ]);
}
