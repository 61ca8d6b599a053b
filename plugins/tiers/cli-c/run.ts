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
  createKeyRelays,
  describeGone,
  type EnginePool,
  type Fields,
  fieldsOf,
  type KeyRelays,
  type PooledEngine,
  type RpcGone,
  textOf,
  unsentLayers,
} from "@svc/sdk/engine";
import { readConversation } from "./conversation.ts";
import { launchOf, overridesOf } from "./environment.ts";
import { answer, modeOf } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader, refusal } from "./reader.ts";
import { serversOf } from "./servers.ts";
import { type AgentSettings, readAgent, type Section } from "./settings.ts";
import { withoutKey } from "./vendor.ts";

/** From asking the program to break off until it is ended: short, so that a cancelled run is gone within 4 s; others may be on a shared one. */
const INTERRUPT_MS = { alone: 400, shared: 700 } as const;
const SPEECH = { who: "tier cli-c", hint: "is it Gemini CLI 0.60 or newer?", conversationKey: "sessionId", versioned: true } as const;

type News =
  | { readonly kind: "update"; readonly update: Fields }
  | { readonly kind: "declined"; readonly toolCall: Fields }
  | { readonly kind: "result"; readonly result: Fields }
  | { readonly kind: "refused"; readonly error: SvcError }
  | { readonly kind: "gone"; readonly gone: RpcGone };

/**
 * Runs turns for one plugin:
 *
 *   settings and key -> engine: shared and warm, else its own -> session: the one it holds, else new -> words in, updates out -> answer
 *        |                                                            (told what was said before)  |                        |
 *        '-> error, nothing started                                          abort: cancel, then end the tree               |
 *                                                                                engine given back, or ended <--------------'
 */
export function createRunner(ctx: PluginContext<Section>): (turn: Turn, context: TurnContext, signal: AbortSignal) => AsyncGenerator<TierEvent> {
  const engines = createEnginePool({
    spawn: ctx.spawn,
    warm: ctx.warm,
    name: "cli-c",
    handshake: (rpc) =>
      rpc.request("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } }),
  });
  const keys = createKeyRelays();
  ctx.signal.addEventListener("abort", () => void keys.close(), { once: true });
  return (turn, context, signal) => runTurn(ctx, { engines, keys }, turn, context, signal);
}

async function* runTurn(
  ctx: PluginContext<Section>,
  { engines, keys }: { readonly engines: EnginePool; readonly keys: KeyRelays },
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  const { agent } = turn;
  const settings = readAgent(agent);
  const news: News[] = [];
  let wake: (() => void) | undefined;
  const push = (item: News) => {
    news.push(item);
    wake?.();
  };
  let engine: PooledEngine | undefined;
  let session: string | undefined;
  let silence: (() => void) | undefined;
  let over = false;
  /** Keeps what was asked and answered until the run was ended: "go on" goes on from there. */
  let keepStopped: (() => Promise<void>) | undefined;
  const interrupt = () => {
    if (session !== undefined) engine?.rpc.notify("session/cancel", { sessionId: session });
    void sleep(INTERRUPT_MS[settings.persistentProcess ? "shared" : "alone"], undefined, { ref: false }).then(() => (over ? undefined : engine?.rpc.stop()));
  };
  try {
    const program = findProgram(ctx.config.command ?? "gemini", ctx.env("PATH") ?? "");
    const model = turn.messages[0].options?.model ?? agent.model;
    const given = launchOf(agent.id, { billing: settings.billing, model, overrides: await overrides(ctx, settings.billing) }, ctx.config, (name) =>
      ctx.env(name),
    );
    const launch = await withoutKey(keys, settings, given);
    engine = await engines.claim({
      launch: {
        ...SPEECH,
        onErrorLine: (line) => noteServers(ctx, agent.id, line),
        program: program.file,
        args: [...program.args, ...launch.args],
        env: launch.env,
        cwd: agent.workspace,
        taskId: turn.id,
      },
      shared: settings.persistentProcess,
      signal,
    });
    const { rpc, opened: sessions } = engine;
    signal.addEventListener("abort", interrupt, { once: true });
    if (signal.aborted) interrupt();
    const conversation = await readConversation(ctx, turn.route.conversation, context);
    const held = conversation.native !== undefined && sessions.has(conversation.native);
    session = held ? (conversation.native as string) : await newSession(engine, agent.workspace);
    if (!held) await conversation.keep(session);
    sessions.add(session);
    await rpc.request("session/set_mode", { sessionId: session, modeId: modeOf(settings) });
    yield { type: "session", id: conversation.id };
    silence = rpc.listen(session, {
      told: (_, params) => push({ kind: "update", update: fieldsOf(params.update) }),
      asked(method, params) {
        if (method !== "session/request_permission") return undefined;
        const { allow, result } = answer(params, settings);
        if (!allow) push({ kind: "declined", toolCall: fieldsOf(params.toolCall) });
        return result;
      },
      gone: (gone) => push({ kind: "gone", gone }),
    });
    // A session of the program's own that is new holds nothing.
    const fresh = await unsentLayers(ctx.store, turn.route.conversation, held ? session : undefined, context.layers);
    const prompt = await promptOf(ctx.media, { ...context, layers: fresh.layers }, conversation.opening(held));
    rpc.request("session/prompt", { sessionId: session, prompt }, 0).then(
      (result) => push({ kind: "result", result }),
      (error: SvcError) => push(error.code === "SVC_RPC_REFUSED" ? { kind: "refused", error } : { kind: "update", update: {} }),
    );
    if (signal.aborted) interrupt();
    const reader = createReader();
    const native = session;
    keepStopped = () =>
      conversation.keep(native, { user: context.prompt, answer: `${reader.answer}\n[I was stopped here, before the end of my answer.]`.trim() });
    for (;;) {
      const item = news.shift();
      if (item === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (item.kind === "gone") {
        yield cutShort(item.gone, signal);
        return;
      }
      over = item.kind === "result" || item.kind === "refused";
      // What the program keeps of a turn that was cut short is refused by the vendor later: the session is not gone on with.
      if (item.kind === "refused" || (item.kind === "result" && item.result.stopReason === "cancelled")) sessions.delete(session);
      else if (item.kind === "result") {
        await conversation.keep(session, { user: context.prompt, answer: reader.answer });
        await fresh.keep(session);
        keepStopped = undefined;
      }
      const events =
        item.kind === "update"
          ? reader.update(item.update)
          : item.kind === "declined"
            ? reader.declined(item.toolCall)
            : item.kind === "result"
              ? reader.end(item.result)
              : [refusal(item.error, reader.answer !== "")];
      for (const event of events) yield event;
      if (over) return;
    }
  } catch (error) {
    yield failed(error as SvcError, signal);
  } finally {
    signal.removeEventListener("abort", interrupt);
    silence?.();
    if (signal.aborted) await keepStopped?.().catch((error) => ctx.log.warn({ err: error, agent: agent.id }, "what was said in a stopped turn was not kept"));
    if (engine !== undefined) await engines.giveBack(engine, { over });
  }
}

/** The program tells on its standard error alone, often not before its end, and not which one. */
function noteServers(ctx: PluginContext<Section>, agent: string, line: string): void {
  if (/^MCP issues detected/.test(line))
    ctx.log.warn({ agent }, "tier cli-c: a tool server did not start; Gemini CLI does not tell which: run the commands in the workspace's .mcp.json by hand");
}

async function newSession({ rpc }: PooledEngine, workspace: string): Promise<string> {
  const opened = await rpc.request("session/new", { cwd: workspace, mcpServers: await serversOf(workspace) });
  return textOf(opened.sessionId) ?? "";
}

/** The file of settings that win over the operator's own. */
async function overrides(ctx: PluginContext<Section>, billing: AgentSettings["billing"]): Promise<string> {
  const name = `settings-${billing}.json`;
  const wanted = overridesOf(billing);
  const found = await ctx.files.own.read(name, 64 * 1024).then(
    (bytes) => Buffer.from(bytes).toString(),
    () => undefined,
  );
  if (found !== wanted) await ctx.files.own.write(name, wanted);
  return ctx.files.own.resolve(name);
}

/** The turn's pictures, then its words behind `opening`. A picture that cannot be passed on is named in the words. */
async function promptOf(reader: MediaReader, context: TurnContext, opening: string): Promise<Fields[]> {
  const { pictures, note } = await reader.pictures(context.media);
  const shown = pictures.map(({ data, type }) => ({ type: "image", mimeType: type, data: Buffer.from(data).toString("base64") }));
  return [...shown, { type: "text", text: opening + turnText(context) + note }];
}

function failed(error: SvcError, signal: AbortSignal): TierEvent {
  const { code, message } = error;
  if (signal.aborted) return tierFailure("cancelled", "The run was ended.");
  if (code === "SVC_RPC_REFUSED") return refusal(error);
  if (code === "SVC_RPC_GONE") return tierFailure((error as SvcError & { kind?: FailureKind }).kind ?? "no-result", message);
  if (code === "SVC_BILLING_KEY_MISSING") return tierFailure("no-key", message);
  if (code?.startsWith("SVC_BILLING")) return tierFailure("billing", message);
  return tierFailure(code === "SVC_RPC_SILENT" ? "protocol" : "program", message);
}

/** The program went away, or speaks nonsense, before the turn was over. */
const cutShort = (gone: RpcGone, signal: AbortSignal): TierEvent => (signal.aborted ? tierFailure("cancelled", "The run was ended.") : goneFailure(gone));

function goneFailure(gone: RpcGone): TierEvent {
  const { kind, message } = describeGone(gone);
  return tierFailure(kind, message);
}
