import { codeOf, type MediaReader, type PluginContext, type ProgramSection, type TierEvent, type Turn, type TurnContext, turnText } from "@svc/sdk";
import {
  createEnginePool,
  createInbox,
  createToolServers,
  type EnginePool,
  type Fields,
  fieldsOf,
  goneFailure,
  type LineRpc,
  type PooledEngine,
  type PooledRun,
  permissionQuestions,
  type RpcGone,
  type RpcOptions,
  runOnPool,
  type ToolServers,
  textOf,
  unsentLayers,
} from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { instruct } from "./instructions.ts";
import { argumentsOf, environmentOf } from "./launch.ts";
import { answer, openCall, sandboxOf } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader } from "./reader.ts";
import { serversOf } from "./servers.ts";

const INTERRUPT_MS = 700;
const SERVER_NEWS = "mcpServer/startupStatus/updated";
const CLEAN_MS = 1_000;
const SPEECH = { who: "tier cli-b", hint: "is it Codex 0.160 or newer?", conversationKey: "threadId" } as const;

/** The program's messages about a thread. */
type News = readonly [method: string, params: Fields] | RpcGone | { readonly kind: "note"; readonly event: TierEvent };

/**
 * Runs turns for one plugin:
 *
 *   settings and key -> engine: shared and warm, else its own -> thread: resumed, else new -> words in, news out -> turn/completed
 *        |                                                          |                                |                |
 *        '-> error, nothing started                  unknown: a new thread        abort: interrupt, then end the tree |
 *                                                                                  engine given back, or ended <------'
 */
export function createRunner(ctx: PluginContext<ProgramSection>): (turn: Turn, context: TurnContext, signal: AbortSignal) => AsyncGenerator<TierEvent> {
  const engines = createEnginePool({
    spawn: ctx.spawn,
    warm: ctx.warm,
    name: "cli-b",
    async handshake(rpc) {
      await rpc.request("initialize", {
        clientInfo: { name: "svc", title: null, version: "0.1.0" },
        capabilities: { experimentalApi: true, requestAttestation: false },
      });
      rpc.notify("initialized");
    },
    // An interrupted turn leaves its commands running.
    clean: (rpc, thread) =>
      rpc.request("thread/backgroundTerminals/clean", { threadId: thread }, CLEAN_MS).then(
        () => true,
        () => false,
      ),
  });
  const shared = { engines, servers: createToolServers(ctx.log, "tier cli-b"), early: new Map<string, Fields[]>(), openedWith: new WeakMap() };
  return (turn, context, signal) =>
    runOnPool(engines, {
      launch: () => launchOf(ctx, shared, turn),
      shared: programSettings(turn.agent).persistentProcess,
      signal,
      converse: (run) => converse(ctx, shared, turn, context, signal, run),
    });
}

/** Dependencies shared by the runs of a daemon. */
interface Shared {
  readonly engines: EnginePool;
  readonly servers: ToolServers;
  /** By thread: what was told of its tool servers before a run could listen, or between two runs. */
  readonly early: Map<string, Fields[]>;
  /** By process and thread: the rights and the model with which it was opened there, and which it keeps. */
  readonly openedWith: WeakMap<LineRpc, Map<string, string>>;
}

/** More threads than these are not remembered. */
const MOST_EARLY = 64;

function launchOf(ctx: PluginContext<ProgramSection>, { early }: Shared, { id, agent }: Turn): RpcOptions {
  const program = findProgram(ctx.config.command ?? "codex", ctx.env("PATH") ?? "");
  const environment = environmentOf(agent.id, programSettings(agent), ctx.config, (name) => ctx.env(name));
  return {
    ...SPEECH,
    unheard(thread, method, params) {
      if (method !== SERVER_NEWS) return;
      early.set(thread, [...(early.get(thread) ?? []), params].slice(-MOST_EARLY));
      if (early.size > MOST_EARLY) early.delete(early.keys().next().value ?? "");
    },
    program,
    args: argumentsOf(environment),
    env: environment.env,
    cwd: agent.workspace,
    taskId: id,
  };
}

async function* converse(
  ctx: PluginContext<ProgramSection>,
  { servers, early, openedWith }: Shared,
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
  run: PooledRun,
): AsyncGenerator<TierEvent> {
  const { engine } = run;
  const { id, agent, messages, route } = turn;
  const settings = programSettings(agent);
  const inbox = createInbox<News>();
  const model = messages[0].options?.model ?? agent.model;
  const wanted = {
    cwd: agent.workspace,
    ...sandboxOf(settings),
    ...(model === undefined ? {} : { model }),
    ...(context.system === "" ? {} : { developerInstructions: context.system }),
    config: { mcp_servers: await serversOf(agent.workspace, id) },
  };
  const lost = (reason: string) => ctx.log.info({ agent: agent.id, reason }, "the native session is gone; starting a new one");
  const opened = await openThread({ engine, openedWith, wanted, now: JSON.stringify([sandboxOf(settings), model]), session: context.session, lost });
  const thread = opened.id;
  let turnId: string | undefined;
  const interrupt = () => {
    if (turnId !== undefined) engine.rpc.request("turn/interrupt", { threadId: thread, turnId }, INTERRUPT_MS).catch(() => undefined);
  };
  run.begun(thread, interrupt);
  await instruct(ctx, engine.rpc, { conversation: route.conversation, thread, system: context.system, resumed: thread === context.session });
  const unsent = await unsentLayers(ctx.store, route.conversation, thread === context.session ? thread : undefined, context.layers);
  yield { type: "session", id: thread };
  const askPerson = permissionQuestions({ services: ctx.services, turn, signal, tell: (event) => inbox.push({ kind: "note", event }) });
  const items = new Map<unknown, Fields>();
  const silence = engine.rpc.listen(thread, {
    onNotification(method, params) {
      const item = fieldsOf(params.item);
      if (method === "item/started" && item.type === "fileChange") items.set(item.id, item);
      else if (method === "item/completed") items.delete(item.id);
      inbox.push([method, params]);
    },
    onRequest(method, params) {
      const call = askPerson === undefined ? undefined : openCall(method, params, settings, items.get(params.itemId));
      if (call === undefined || askPerson === undefined) return answer(method, params, settings);
      return askPerson(call).then(({ allow }) => answer(method, params, settings, allow));
    },
    onGone: (gone) => inbox.push(gone),
  });
  try {
    inbox.unshift(...(early.get(thread) ?? []).map((params) => [SERVER_NEWS, params] as const));
    early.delete(thread);
    const begun = await engine.rpc.request("turn/start", { threadId: thread, input: await inputOf(ctx.media, { ...context, layers: unsent.layers }) });
    turnId = textOf(fieldsOf(begun.turn).id);
    if (signal.aborted) interrupt();
    const reader = createReader(opened.model ?? model, servers.of(agent.id));
    for (;;) {
      const item = await inbox.next();
      if ("kind" in item && item.kind === "note") {
        yield item.event;
        continue;
      }
      if ("kind" in item) {
        yield goneFailure(item, signal);
        return;
      }
      const over = item[0] === "turn/completed";
      if (over) run.over();
      for (const event of reader.read(...item)) {
        if (event.type === "done") await unsent.keep(thread);
        yield event;
      }
      if (over) return;
    }
  } finally {
    silence();
  }
}

/** What a thread is opened by. */
interface Opening extends Pick<Shared, "openedWith"> {
  readonly engine: PooledEngine;
  readonly wanted: Fields;
  /** The rights and the model that count now. */
  readonly now: string;
  readonly session: string | undefined;
  lost(reason: string): void;
}

/**
 * The thread to go on with, else a new one. A thread that the engine has open already keeps what it was opened with: where that is something else now,
 * it goes on as a copy.
 */
async function openThread({ engine, openedWith, wanted, now, session, lost }: Opening): Promise<{ readonly id: string; readonly model?: string }> {
  const open = openedWith.get(engine.rpc) ?? new Map<string, string>();
  openedWith.set(engine.rpc, open);
  const keep = (id: string, model: unknown) => {
    engine.opened.add(id);
    open.set(id, now);
    return { id, ...(textOf(model) ? { model: model as string } : {}) };
  };
  if (session !== undefined) {
    try {
      if ((open.get(session) ?? now) === now)
        return keep(session, (await engine.rpc.request("thread/resume", { ...wanted, threadId: session, excludeTurns: true })).model);
      const copy = await engine.rpc.request("thread/fork", { ...wanted, threadId: session, excludeTurns: true });
      return keep(textOf(fieldsOf(copy.thread).id) ?? "", copy.model);
    } catch (error) {
      if (codeOf(error) !== "SVC_RPC_REFUSED") throw error;
      lost((error as Error).message);
    }
  }
  const started = await engine.rpc.request("thread/start", wanted);
  return keep(textOf(fieldsOf(started.thread).id) ?? "", started.model);
}

/** The turn's words, and its pictures by path or as data. A picture that cannot be passed on is named in the words. */
async function inputOf(reader: MediaReader, context: TurnContext): Promise<Fields[]> {
  const { pictures, note } = await reader.pictures(context.media);
  const shown = pictures.map(({ path, data, type }) =>
    path === undefined ? { type: "image", url: `data:${type};base64,${Buffer.from(data).toString("base64")}` } : { type: "localImage", path },
  );
  return [{ type: "text", text: turnText(context) + note, text_elements: [] }, ...shown];
}
