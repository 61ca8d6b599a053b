import { type Action, definePlugin, type HttpRequest, type PluginContext, svcError } from "@svc/sdk";
import { adminRoutes } from "./admin-routes.ts";
import type { Definition } from "./definition.ts";
import { createActionFolder, FOLDER } from "./folder.ts";
import { schemaOf, typedValues, type Value } from "./inputs.ts";
import { RESULT } from "./result.ts";
import { watchFolder } from "./watch.ts";

const LOOK_EVERY_MS = 5_000;
/** Delay until an action of another daemon on the store appears here. */
const SHARE_MS = 1_000;
/** The run's own limit answers a result; this much later the call is given up, for a child that does not end. */
const GRACE_MS = 10_000;

/**
 * Actions of the operator: commands and HTTP calls in `.svc/actions/<id>.json` (000:L98-112), provided by their id to agents, workflows
 * and HTTP, and the routes by which every action can be listed and run (000:L200-201). Files are read anew when they change.
 */
export default definePlugin({
  kind: "feature",
  name: "operator-actions",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["actions", "data-folder", "env:*", "events", "fetch", "files", "jobs", "routes", "spawn", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const provided = new Map<string, () => void>();
    /** Actions present at the start are logged in one line, later ones one by one. */
    let started = false;
    const toAction = (definition: Definition): Action => ({
      name: definition.id,
      description: definition.title,
      input: schemaOf(definition.inputs),
      output: RESULT,
      timeoutMs: definition.timeoutMs + GRACE_MS,
      async run(input, { signal, key }) {
        const { runAction } = await import("./run.js");
        const folder = ctx.files.under(".").roots[0] ?? ".";
        const env = (name: string) => ctx.env(name);
        return runAction(definition, input as Record<string, Value>, { spawn: ctx.spawn, fetch: ctx.fetch, folder, env, ...(key ? { key } : {}) }, signal);
      },
    });
    const folder = createActionFolder(ctx.files.data, {
      added(definition) {
        provided.set(definition.id, ctx.provide.action(toAction(definition)));
        if (!started) return;
        const { id, work } = definition;
        ctx.log.info({ action: id, kind: work.kind }, `the action ${id} is new or has changed, and can be run`);
        ctx.events.publish({
          kind: "status",
          type: "operator-actions:found",
          summary: `the action ${id} is new or has changed`,
          data: { action: id, kind: work.kind },
        });
      },
      withdrawn(id) {
        provided.get(id)?.();
        provided.delete(id);
      },
    });
    const look = async () => {
      const before = new Set(folder.errors().map(({ error }) => error));
      await folder.refresh();
      for (const { file, error } of folder.errors()) if (!before.has(error)) ctx.log.warn({ file }, error);
    };
    const builtin = () => ctx.actions.list().filter(({ name }) => !provided.has(name));

    ctx.provide.route({ method: "GET", path: "/api/actions/builtin", guard: "peer", handle: () => ({ actions: builtin() }) });
    ctx.provide.route({
      method: "POST",
      path: "/api/actions/builtin/:name",
      guard: "peer",
      body: { type: "object", additionalProperties: true },
      async handle({ params, body, query, caller, signal }) {
        const name = params["name"] ?? "";
        if (!builtin().some((action) => action.name === name))
          throw svcError("SVC_ACTION_UNKNOWN", `There is no action '${name}'; see svc actions builtin.`, { status: 404 });
        // The running task that a program on this machine calls for: its agent, and who called that one, count for the call.
        const task = caller.task?.taskId ?? (caller.local ? query["task"] : undefined);
        return ctx.actions.run(name, body ?? {}, { door: doorOf(query), signal, ...(task === undefined || task === "" ? {} : { taskId: task }) });
      },
    });
    ctx.provide.route({
      method: "GET",
      path: "/api/actions",
      guard: "peer",
      async handle() {
        await look();
        const actions = folder.list().map(({ id, title, work, inputs, timeoutMs }) => ({ id, title, kind: work.kind, inputs, timeoutMs }));
        return { actions, errors: folder.errors() };
      },
    });
    ctx.provide.route({
      method: "POST",
      path: "/api/actions/:id/run",
      guard: "peer",
      body: { type: "object", additionalProperties: true },
      async handle({ params, body, query, caller, signal }) {
        const id = params["id"] ?? "";
        const { autonomy = "act" } = caller.task ?? {};
        if (autonomy !== "act")
          throw svcError("SVC_ACTION_RESTRICTED", `Action ${id} is not run: the run that calls it may only ${autonomy}, and the action may change something.`, {
            status: 403,
          });
        const { isActionId } = await import("./definition.js");
        await look();
        const definition = isActionId(id) ? folder.get(id) : undefined;
        if (!definition) {
          const broken = folder.errors().find(({ file }) => file === `${id}.json`);
          if (broken) throw svcError("SVC_OPERATOR_ACTION_INVALID", broken.error, { status: 409 });
          throw svcError("SVC_ACTION_UNKNOWN", `There is no action ${JSON.stringify(id)}; see svc actions list.`, { status: 404 });
        }
        const values = typedValues(definition.inputs, (body ?? {}) as Record<string, unknown>);
        const envelope = await ctx.actions.run(id, values, { door: doorOf(query), signal });
        if (envelope.status === "error") throw svcError("SVC_OPERATOR_ACTION_FAILED", envelope.error ?? "The action failed.", { status: 422 });
        return envelope.output;
      },
    });

    for (const route of adminRoutes(ctx, { look, errors: folder.errors, own: (name) => provided.has(name) })) ctx.provide.route(route);

    let unwatch: (() => void) | undefined;
    return {
      async start() {
        const onFailure = (error: unknown) => ctx.log.warn({ err: error }, "the action files could not be read");
        const lookAndWatch = async () => {
          await look();
          unwatch ??= watchFolder(await ctx.files.data.resolve(FOLDER), () => void look().catch(onFailure));
        };
        if (ctx.store.shared === true) await share(ctx, look);
        await lookAndWatch();
        started = true;
        const found = folder.list().map(({ id }) => id);
        if (found.length > 0) ctx.log.info({ actions: found.slice(0, 50) }, `${found.length} operator actions can be run`);
        ctx.jobs.every(LOOK_EVERY_MS, lookAndWatch);
      },
      async stop() {
        unwatch?.();
      },
    };
  },
});

/** Several daemons use the store: their actions are the same. */
async function share(ctx: PluginContext, look: () => Promise<void>): Promise<void> {
  const { shareActions } = await import("./shared-actions.js");
  const shared = shareActions(ctx);
  let told = false;
  const again = async () => {
    try {
      if (await shared.sync()) await look();
      told = false;
    } catch (error) {
      if (!told) ctx.log.warn({ err: error }, "the actions of the other daemons are not known here; tried again until they are");
      told = true;
    }
  };
  await again();
  ctx.jobs.every(SHARE_MS, again);
}

/** The command line calls through HTTP and says so; nothing depends on it but the trace. */
const doorOf = (query: HttpRequest["query"]) => (query["door"] === "cli" ? "cli" : "http");
