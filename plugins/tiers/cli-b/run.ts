import { setTimeout as sleep } from "node:timers/promises";
import {
  type FailureKind,
  type MediaReader,
  type PluginContext,
  type SvcError,
  type TierEvent,
  type Turn,
  type TurnContext,
  tierFailure,
  turnText,
} from "@svc/sdk";
import {
  createEnginePool,
  createToolServers,
  describeGone,
  type EnginePool,
  type Fields,
  fieldsOf,
  type PooledEngine,
  type RpcGone,
  type ToolServers,
  textOf,
  unsentLayers,
  vendorFailure,
} from "@svc/sdk/engine";
import { launchOf } from "./environment.ts";
import { instruct } from "./instructions.ts";
import { answer, sandboxOf } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader } from "./reader.ts";
import { serversOf } from "./servers.ts";
import { readAgent, type Section } from "./settings.ts";

/** From asking the program to break off until it is ended: short, so that a cancelled run is gone within 4 s; others may be on a shared one. */
const INTERRUPT_MS = { alone: 400, shared: 700 } as const;
const SERVER_NEWS = "mcpServer/startupStatus/updated";
const CLEAN_MS = 1_000;
const SPEECH = { who: "tier cli-b", hint: "is it Codex 0.160 or newer?", conversationKey: "threadId" } as const;

/**
 * Runs turns for one plugin:
 *
 *   settings and key -> engine: shared and warm, else its own -> thread: resumed, else new -> words in, news out -> turn/completed
 *        |                                                          |                                |                |
 *        '-> error, nothing started                  unknown: a new thread        abort: interrupt, then end the tree |
 *                                                                                  engine given back, or ended <------'
 */
export function createRunner(ctx: PluginContext<Section>): (turn: Turn, context: TurnContext, signal: AbortSignal) => AsyncGenerator<TierEvent> {
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
  const shared = { engines, servers: createToolServers(ctx.log, "tier cli-b"), early: new Map<string, Fields[]>() };
  return (turn, context, signal) => runTurn(ctx, shared, turn, context, signal);
}

/** What the runs of a daemon share. */
interface Shared {
  readonly engines: EnginePool;
  readonly servers: ToolServers;
  /** By thread: what was told of its tool servers before a run could listen, or between two runs. */
  readonly early: Map<string, Fields[]>;
}

/** More threads than these are not remembered. */
const MOST_EARLY = 64;

async function* runTurn(
  ctx: PluginContext<Section>,
  { engines, servers, early }: Shared,
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  const { agent } = turn;
  const settings = readAgent(agent);
  const news: (readonly [method: string, params: Fields] | RpcGone)[] = [];
  let wake: (() => void) | undefined;
  const push = (item: (typeof news)[number]) => {
    news.push(item);
    wake?.();
  };
  let engine: PooledEngine | undefined;
  let over = false;
  let silence: (() => void) | undefined;
  let thread: string | undefined;
  let turnId: string | undefined;
  const interrupt = () => {
    if (thread !== undefined && turnId !== undefined)
      engine?.rpc.request("turn/interrupt", { threadId: thread, turnId }, INTERRUPT_MS.shared).catch(() => undefined);
    void sleep(INTERRUPT_MS[settings.persistentProcess ? "shared" : "alone"], undefined, { ref: false }).then(() => (over ? undefined : engine?.rpc.stop()));
  };
  try {
    const program = findProgram(ctx.config.command ?? "codex", ctx.env("PATH") ?? "");
    const launch = launchOf(agent.id, settings, ctx.config, (name) => ctx.env(name));
    const unheard = (id: string, method: string, params: Fields) => {
      if (method !== SERVER_NEWS) return;
      early.set(id, [...(early.get(id) ?? []), params].slice(-MOST_EARLY));
      if (early.size > MOST_EARLY) early.delete(early.keys().next().value ?? "");
    };
    engine = await engines.claim({
      launch: { ...launch, ...SPEECH, unheard, program, cwd: agent.workspace, taskId: turn.id },
      shared: settings.persistentProcess,
      signal,
    });
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    const model = turn.messages[0].options?.model ?? agent.model;
    const wanted = {
      cwd: agent.workspace,
      ...sandboxOf(settings),
      ...(model === undefined ? {} : { model }),
      ...(context.system === "" ? {} : { developerInstructions: context.system }),
      config: { mcp_servers: await serversOf(agent.workspace) },
    };
    const opened = await openThread(engine, wanted, context.session, (reason) =>
      ctx.log.info({ agent: agent.id, reason }, "the native session is gone; starting a new one"),
    );
    thread = opened.id;
    await instruct(ctx, engine.rpc, { conversation: turn.route.conversation, thread, system: context.system, resumed: thread === context.session });
    const fresh = await unsentLayers(ctx.store, turn.route.conversation, thread === context.session ? thread : undefined, context.layers);
    yield { type: "session", id: thread };
    silence = engine.rpc.listen(thread, {
      told: (method, params) => push([method, params]),
      asked: (method, params) => answer(method, params, settings),
      gone: push,
    });
    news.unshift(...(early.get(thread) ?? []).map((params) => [SERVER_NEWS, params] as const));
    early.delete(thread);
    const begun = await engine.rpc.request("turn/start", { threadId: thread, input: await inputOf(ctx.media, { ...context, layers: fresh.layers }) });
    turnId = textOf(fieldsOf(begun.turn).id);
    if (signal.aborted) interrupt();
    const reader = createReader(opened.model ?? model, {
      started: (server) => servers.started(agent.id, server),
      failed: (server, reason) => servers.failed(agent.id, server, reason),
    });
    for (;;) {
      const item = news.shift();
      if (item === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if ("kind" in item) {
        yield cutShort(item, signal);
        return;
      }
      over = item[0] === "turn/completed";
      for (const event of reader.read(...item)) {
        if (event.type === "done") await fresh.keep(thread);
        yield event;
      }
      if (over) return;
    }
  } catch (error) {
    yield failed(error, signal);
  } finally {
    signal.removeEventListener("abort", interrupt);
    silence?.();
    if (engine !== undefined) await engines.giveBack(engine, { over, ...(signal.aborted && thread !== undefined ? { interrupted: thread } : {}) });
  }
}

/** The thread to go on with, else a new one. A thread that the engine has open already keeps what it was opened with. */
async function openThread(
  engine: PooledEngine,
  wanted: Fields,
  session: string | undefined,
  lost: (reason: string) => void,
): Promise<{ readonly id: string; readonly model?: string }> {
  if (session !== undefined) {
    try {
      const resumed = await engine.rpc.request("thread/resume", { ...wanted, threadId: session, excludeTurns: true });
      engine.opened.add(session);
      return { id: session, ...(textOf(resumed.model) ? { model: resumed.model as string } : {}) };
    } catch (error) {
      if ((error as SvcError).code !== "SVC_RPC_REFUSED") throw error;
      lost((error as Error).message);
    }
  }
  const started = await engine.rpc.request("thread/start", wanted);
  const id = textOf(fieldsOf(started.thread).id) ?? "";
  engine.opened.add(id);
  return { id, ...(textOf(started.model) ? { model: started.model as string } : {}) };
}

/** The turn's words, and its pictures by path or as data. A picture that cannot be passed on is named in the words. */
async function inputOf(reader: MediaReader, context: TurnContext): Promise<Fields[]> {
  const { pictures, note } = await reader.pictures(context.media);
  const shown = pictures.map(({ path, data, type }) =>
    path === undefined ? { type: "image", url: `data:${type};base64,${Buffer.from(data).toString("base64")}` } : { type: "localImage", path },
  );
  return [{ type: "text", text: turnText(context) + note, text_elements: [] }, ...shown];
}

function failed(error: unknown, signal: AbortSignal): TierEvent {
  const { code, message } = error as SvcError;
  if (signal.aborted) return tierFailure("cancelled", "The run was ended.");
  if (code === "SVC_RPC_GONE") return tierFailure((error as SvcError & { kind?: FailureKind }).kind ?? "no-result", message);
  if (code === "SVC_BILLING_KEY_MISSING") return tierFailure("no-key", message);
  if (code?.startsWith("SVC_BILLING")) return tierFailure("billing", message);
  return code === "SVC_RPC_REFUSED" ? vendorFailure({ status: 0, message }) : tierFailure(code === "SVC_RPC_SILENT" ? "protocol" : "program", message);
}

/** The program went away, or speaks nonsense, before the turn was over. */
const cutShort = (gone: RpcGone, signal: AbortSignal): TierEvent => (signal.aborted ? tierFailure("cancelled", "The run was ended.") : goneFailure(gone));

function goneFailure(gone: RpcGone): TierEvent {
  const { kind, message } = describeGone(gone);
  return tierFailure(kind, message);
}
