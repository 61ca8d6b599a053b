import { type HttpRequest, type HttpRoute, type PluginContext, svcError } from "@svc/sdk";
import { changeJobs, jobIn, verdict } from "./job-changes.ts";
import { type CronState, overviewOf } from "./overview.ts";
import { type Runner, unknownJob } from "./runner.ts";
import type { CronsSettings } from "./settings.ts";

const RUNS_SHOWN = 20;
/** Bodies of callers that start a job are taken and thrown away. */
const FIRE_BYTES = 65_536;

/** `GET /crons`, `GET /crons/:id/runs`, `POST /crons/:id/run` for this machine, and `POST /crons/:id/fire` for the bearer of the job's token. */
export function addRoutes(ctx: PluginContext<CronsSettings>, state: CronState & { readonly runner: Runner }): void {
  const { book, runner, jobs } = state;
  const guesses = new Guesses();
  ctx.provide.route({ method: "GET", path: "/crons", guard: "loopback", handle: async () => ({ crons: await overviewOf(ctx, state) }) });
  ctx.provide.route({
    method: "GET",
    path: "/crons/:id/runs",
    guard: "loopback",
    query: {
      type: "object",
      properties: {
        limit: { type: "integer", minimum: 1, maximum: 200, description: "how many, newest first; default 20" },
        before: { type: "integer", minimum: 0, description: "runs that began before this Unix time in milliseconds" },
      },
    },
    async handle({ params: { id = "" }, query: { limit, before } }) {
      const runs = await book.list(id, limit === undefined ? RUNS_SHOWN : Number(limit), before === undefined ? undefined : Number(before));
      if (runs.length === 0 && !Object.hasOwn(jobs(), id)) throw unknownJob(id);
      return { job: id, runs };
    },
  });
  const run: HttpRoute["handle"] = async ({ params: { id = "" } }, reply) => {
    const started = await runner.start(id, "manual");
    reply.status(started.started ? 202 : 409);
    return started.started ? started : { ...started, error: `The job '${id}' runs already.`, code: "SVC_CRON_RUNNING" };
  };
  ctx.provide.route({ method: "POST", path: "/crons/:id/run", guard: "loopback", handle: run });
  // The same for people in a browser.
  const admin = { server: "dashboard", guard: "scope:dashboard:write" } as const;
  ctx.provide.route({ ...admin, method: "GET", path: "/api/admin/schedules", handle: async () => ({ schedules: await overviewOf(ctx, state) }) });
  ctx.provide.route({ ...admin, method: "POST", path: "/api/admin/schedules/:id/run", forPeople: true, handle: run });
  ctx.provide.route({
    ...admin,
    method: "POST",
    path: "/api/admin/schedules/:id/decide",
    forPeople: true,
    body: { type: "object", additionalProperties: false, required: ["approved"], properties: { approved: { type: "boolean" } } },
    async handle({ params: { id = "" }, body, caller }) {
      const { approved } = body as { approved: boolean };
      const who = caller.token?.name ?? caller.address;
      const report = await changeJobs(ctx.settings, `the dashboard (${who}): ${approved ? "approved" : "rejected"} the job ${id}`, (written) => {
        const { approval } = jobIn(written, id);
        if (approval === undefined)
          throw svcError("SVC_CRON_DECIDED", `Nothing waits for a decision on the job '${id}': somebody has decided it.`, { status: 409 });
        return [verdict(id, approval, approved)];
      });
      return { id, approved, ...report };
    },
  });
  ctx.provide.route({
    method: "POST",
    path: "/crons/:id/fire",
    guard: "open",
    raw: true,
    maxBytes: FIRE_BYTES,
    before: (request) => requireToken(request, jobs(), guesses),
    async handle({ params: { id = "" } }, reply) {
      const { started } = await runner.start(id, "fire");
      reply.status(202);
      return { job: id, started, ...(started ? {} : { reason: "running" }) };
    },
  });
}

const MINUTE_MS = 60_000;
const GUESSES = 10;
const ADDRESSES = 1_000;

/** Throttle: wrong tokens of the last minute by address. Programs of this machine are not counted. */
class Guesses {
  readonly #wrong = new Map<string, { count: number; readonly since: number }>();

  /** Throws `SVC_CRON_THROTTLED` (429) for an address that has guessed too often. */
  require({ address, local }: HttpRequest["caller"]): void {
    const found = this.#wrong.get(address);
    if (local || found === undefined || found.count < GUESSES || performance.now() - found.since > MINUTE_MS) return;
    throw svcError("SVC_CRON_THROTTLED", "Too many wrong tokens from this address; wait a minute.", { status: 429 });
  }

  wrong({ address, local }: HttpRequest["caller"]): void {
    if (local) return;
    const now = performance.now();
    const found = this.#wrong.get(address);
    if (found !== undefined && now - found.since <= MINUTE_MS) {
      found.count += 1;
      return;
    }
    const [oldest] = this.#wrong.keys();
    if (this.#wrong.size >= ADDRESSES && oldest !== undefined) this.#wrong.delete(oldest);
    this.#wrong.set(address, { count: 1, since: now });
  }
}

/** Before the body is read. A job without a token and one that does not exist are not told apart. */
async function requireToken({ params: { id = "" }, headers, caller }: HttpRequest, jobs: CronsSettings, guesses: Guesses): Promise<void> {
  guesses.require(caller);
  const token = Object.hasOwn(jobs, id) ? jobs[id]?.fireToken : undefined;
  if (token === undefined) throw svcError("SVC_CRON_UNKNOWN", "There is no job of that id that can be started with a token.", { status: 404 });
  const [, given] = /^Bearer +(\S+)$/i.exec(String(headers["authorization"] ?? "")) ?? [];
  // A token that is present and empty, as of an unset variable, never matches.
  if (token === "" || given === undefined || !(await same(given, token))) {
    guesses.wrong(caller);
    throw svcError("SVC_CRON_TOKEN", "This needs the job's fireToken: Authorization: Bearer <fireToken>.", { status: 401 });
  }
}

/** Compares digests, so that the time says nothing about how much of it was right. */
async function same(one: string, other: string): Promise<boolean> {
  const digest = async (text: string) => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [left, right] = await Promise.all([digest(one), digest(other)]);
  return left.every((byte, at) => byte === right[at]);
}
