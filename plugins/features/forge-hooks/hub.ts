import { type Forge, type ForgeHandle, type Inbound, type PluginContext, type Route, reasonOf, remove, type ServerHandle, svcError } from "@svc/sdk";
import type { ActParts } from "./acts.ts";
import { Backfill, type Found } from "./backfill.ts";
import { forgeOf, inBackground } from "./connection.ts";
import { Inbox } from "./inbox.ts";
import { openMarkers } from "./marker.ts";
import { OwnComments } from "./own-comments.ts";
import { Pace } from "./pace.ts";
import { fetchPicture } from "./pictures.ts";
import { receiverRoute } from "./receiver.ts";
import { type Decision, KEPT_MS, NAMES, openRows } from "./rows.ts";
import { Runs } from "./runs.ts";
import { Speaker } from "./speaker.ts";
import { Standing } from "./standing.ts";

/** Options of the hub. */
export interface HubOptions {
  /** The port of `channels.forge_a.webhookPort`, where it is set. */
  readonly port?: number;
  /** Delay of a forge's lists, in milliseconds; default 10,000. */
  readonly lagMs?: number;
  /** The pause between two calls with one token, in milliseconds; default 1,000. 0 leaves all own limits out: for far ends of tests. */
  readonly pauseMs?: number;
}

/** A forge as `svc forge status` shows it. */
export interface ForgeView {
  readonly name: string;
  readonly origin: string;
  readonly path: string;
  readonly secret: "set" | "missing";
  readonly agents: readonly { readonly agent: string; readonly login?: string; readonly shared: boolean; readonly comments: boolean }[];
  readonly waiting: number;
  readonly runs: readonly { readonly where: string; readonly url: string; readonly asker: string }[];
  readonly looked?: Found & { readonly at: number };
}

const PORT = 18_810;
const HOST = "0.0.0.0";
const LAG_MS = 10_000;
const QUARTER_MS = 900_000;
const SWEEP_MS = 3_600_000;
const PAGE = 500;

/** All that forges share, opened with the first one. */
export class Hub {
  readonly #ctx: PluginContext;
  readonly #options: HubOptions;
  readonly #forges = new Map<string, Forge>();
  readonly #routes = new Set<string>();
  readonly #looked = new Map<string, Found & { readonly at: number }>();
  readonly #runs: Runs;
  readonly #speaker: Speaker;
  readonly #inbox: Inbox;
  readonly #backfill: Backfill;
  readonly parts: ActParts;
  #server: ServerHandle | undefined;
  #listening: Promise<void> | undefined;
  #working = false;

  /** Opens the rows; nothing is worked on before a forge is connected. */
  static async open(ctx: PluginContext, options: HubOptions): Promise<Hub> {
    return new Hub(ctx, options, await openMarkers(ctx.store));
  }

  constructor(ctx: PluginContext, options: HubOptions, markers: ActParts["markers"]) {
    this.#ctx = ctx;
    this.#options = options;
    const rows = openRows(ctx.store);
    const shared = { ctx, rows, markers, pace: new Pace(rows, options.pauseMs), forges: this.#forges, lagMs: options.lagMs ?? LAG_MS };
    const comments = new OwnComments(shared);
    const standing = new Standing(ctx.log);
    this.#runs = new Runs({ ...shared, comments });
    this.#speaker = new Speaker({ ...shared, comments }, this.#runs);
    this.#inbox = new Inbox({ ...shared, comments, standing }, this.#runs);
    this.#backfill = new Backfill({ ...shared, comments });
    this.parts = { ...shared, comments, standing, runs: this.#runs };
  }

  async connect(forge: Forge): Promise<ForgeHandle> {
    const { name } = forge;
    if (this.#forges.has(name)) throw svcError("SVC_FORGE_CONNECTED", `A forge '${name}' is connected already; two plugins speak for it.`);
    if (forge.webhook.secrets().length === 0)
      this.#ctx.log.warn(
        { forge: name },
        `${forge.webhook.setting} is not set: every webhook of ${name} is refused until it is, and nothing but the look every 15 minutes finds mentions`,
      );
    this.#forges.set(name, forge);
    try {
      await this.#listen(forge);
    } catch (error) {
      this.#forges.delete(name);
      throw error;
    }
    this.#work();
    return {
      send: (out, signal) => this.#speaker.send(name, out, signal),
      react: (target, _platformId, _emoji, signal) => this.#speaker.eye(name, target.thread, signal),
      fetchMedia: (media, signal) => fetchPicture(forgeOf(this.parts, name), media, signal),
      ready: () => inBackground(this.#ctx.log, "a look for missed notes failed", this.look(name, false)),
      disconnect: async () => {
        if (this.#forges.get(name) === forge) this.#forges.delete(name);
      },
    };
  }

  /** One server for all: the port of its setting, else the one that the first forge names. */
  async #listen({ name, webhook }: Forge): Promise<void> {
    const { ctx, rows } = { ctx: this.#ctx, rows: this.parts.rows };
    this.#server ??= ctx.provide.server({ name: "forge", host: webhook.host ?? HOST, port: this.#options.port ?? webhook.port ?? PORT });
    const server = this.#server;
    this.#listening ??= (async () => {
      const at = await server.listen();
      if (at !== undefined) ctx.log.info({ address: `${at.host}:${at.port}` }, "forges send their webhooks here");
    })();
    try {
      await this.#listening;
    } catch (error) {
      // The next forge, or the same one again, tries anew.
      this.#listening = undefined;
      throw error;
    }
    if (this.#routes.has(name)) return;
    this.#routes.add(name);
    ctx.provide.route(receiverRoute(name, { rows, log: ctx.log, forges: this.#forges }));
  }

  /** Begins with the first forge: what waits from before a restart goes on. */
  #work(): void {
    if (this.#working) return;
    this.#working = true;
    const { jobs, events, log } = this.#ctx;
    events.subscribe(({ data }) => this.#runs.heard(String(data?.["taskId"]), String(data?.["step"]), String(data?.["phase"])), "task:step");
    this.#inbox.start();
    this.#speaker.start();
    jobs.every(QUARTER_MS, async () => {
      for (const name of this.#forges.keys())
        await this.look(name, true).catch((error) => log.warn({ forge: name, reason: reasonOf(error) }, "a look for missed notes failed"));
    });
    jobs.every(SWEEP_MS, () => this.#sweep());
  }

  /** Looks for what was missed. Throws `SVC_FORGE_OFF` (404) for a forge that is not connected. */
  async look(name: string, quick: boolean): Promise<Found> {
    const forge = this.#forges.get(name);
    if (forge === undefined) throw svcError("SVC_FORGE_OFF", `The forge '${name}' is not connected; see svc forge status.`, { status: 404 });
    const found = await this.#backfill.look(forge, quick);
    this.#looked.set(name, { ...found, at: Date.now() });
    return found;
  }

  route({ channel, thread }: Inbound): Promise<Route | undefined> {
    return this.#runs.route(channel, thread);
  }

  async status(
    limit: number,
  ): Promise<{ readonly forges: readonly ForgeView[]; readonly decisions: readonly Decision[]; readonly actions: readonly unknown[] }> {
    const { rows } = this.parts;
    const waiting = await rows.inbox.size();
    const live = (await rows.runs.list({ where: { live: 1 }, limit: 100 })).map(({ value }) => value);
    const forges = [...this.#forges.values()].map((forge): ForgeView => {
      const looked = this.#looked.get(forge.name);
      return {
        name: forge.name,
        origin: forge.origin,
        path: `/webhook/${forge.name}`,
        secret: forge.webhook.secrets().length === 0 ? "missing" : "set",
        agents: forge
          .agents()
          .map(({ agent, user, shared, autoReply }) => ({ agent, shared, comments: autoReply, ...(user === undefined ? {} : { login: user.login }) })),
        waiting,
        runs: live.filter((run) => run.forge === forge.name).map((run) => ({ where: this.#speaker.words(run), url: run.note.url, asker: run.asker.login })),
        ...(looked === undefined ? {} : { looked }),
      };
    });
    const actions = await rows.store.journal("actions").tail(limit);
    return { forges, decisions: await this.#inbox.decisions(limit), actions: actions.map(({ value }) => value).reverse() };
  }

  async #sweep(): Promise<void> {
    const { rows } = this.parts;
    const to = Date.now() - KEPT_MS;
    for (const [name, collection] of [
      [NAMES.objects, rows.objects],
      [NAMES.runs, rows.runs],
      [NAMES.comments, rows.comments],
    ] as const) {
      for (;;) {
        const old = await collection.list({ by: "at", to, limit: PAGE });
        if (old.length > 0) await rows.store.commit(old.map(({ key }) => remove(name, key)));
        if (old.length < PAGE) break;
      }
    }
    await rows.store.journal("actions").trim(1_000);
  }
}
