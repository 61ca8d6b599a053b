import { type PluginContext, type ProgramSection, type ProgramSettings, type SvcError, type TierEvent, type Turn, type TurnContext, turnText } from "@svc/sdk";
import {
  acpPictures,
  acpServers,
  createAcpCalls,
  createEnginePool,
  createInbox,
  createKeyRelays,
  type Fields,
  fieldsOf,
  goneFailure,
  type KeyRelays,
  type PooledEngine,
  type PooledRun,
  permissionAnswer,
  permissionQuestions,
  type RpcGone,
  type RpcOptions,
  readTranscript,
  runOnPool,
  textOf,
  unsentLayers,
  workspaceServers,
} from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { argumentsOf, environmentOf, overridesOf, withoutKey } from "./launch.ts";
import { mayRun, modeOf, openCall } from "./permission.ts";
import { findProgram } from "./program.ts";
import { createReader, refusal } from "./reader.ts";

const SPEECH = { who: "tier cli-c", hint: "is it Gemini CLI 0.60 or newer?", conversationKey: "sessionId", versioned: true } as const;

type News =
  | { readonly kind: "update"; readonly update: Fields }
  | { readonly kind: "note"; readonly event: TierEvent }
  | { readonly kind: "declined"; readonly toolCall: Fields }
  | { readonly kind: "result"; readonly result: Fields }
  | { readonly kind: "refused"; readonly error: SvcError }
  | { readonly kind: "gone"; readonly gone: RpcGone };

/** Runs the turns of one plugin. */
export interface Runner {
  run(turn: Turn, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent>;
  /** Closes the relays of its keys. */
  close(): Promise<void>;
}

/**
 * Runs turns for one plugin:
 *
 *   settings and key -> engine: shared and warm, else its own -> session: the one it holds, else new -> words in, updates out -> answer
 *        |                                                            (told what was said before)  |                        |
 *        '-> error, nothing started                                          abort: cancel, then end the tree               |
 *                                                                                engine given back, or ended <--------------'
 */
export function createRunner(ctx: PluginContext<ProgramSection>): Runner {
  const engines = createEnginePool({
    spawn: ctx.spawn,
    warm: ctx.warm,
    name: "cli-c",
    handshake: (rpc) =>
      rpc.request("initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } }),
  });
  const keys = createKeyRelays();
  return {
    close: () => keys.close(),
    run: (turn, context, signal) =>
      runOnPool(engines, {
        launch: () => launchOf(ctx, keys, turn),
        shared: programSettings(turn.agent).persistentProcess,
        signal,
        refusal,
        converse: (run) => converse(ctx, turn, context, signal, run),
      }),
  };
}

async function launchOf(ctx: PluginContext<ProgramSection>, keys: KeyRelays, { id, agent, messages }: Turn): Promise<RpcOptions> {
  const settings = programSettings(agent);
  const program = findProgram(ctx.config.command ?? "gemini", ctx.env("PATH") ?? "");
  const environment = environmentOf(agent.id, settings, ctx.config, (name) => ctx.env(name), await overrides(ctx, settings.billing));
  return {
    ...SPEECH,
    onErrorLine: (line) => noteServers(ctx, agent.id, line),
    program: program.file,
    args: [...program.args, ...argumentsOf(messages[0].options?.model ?? agent.model)],
    env: await withoutKey(keys, settings, environment),
    cwd: agent.workspace,
    taskId: id,
  };
}

async function* converse(ctx: PluginContext<ProgramSection>, turn: Turn, context: TurnContext, signal: AbortSignal, run: PooledRun): AsyncGenerator<TierEvent> {
  const { rpc, opened: sessions } = run.engine;
  const { id, agent, route } = turn;
  const settings = programSettings(agent);
  const inbox = createInbox<News>();
  const conversation = await readTranscript(ctx.store, route.conversation, context);
  const held = conversation.native !== undefined && sessions.has(conversation.native);
  const session = held ? (conversation.native as string) : await newSession(run.engine, agent.workspace, id);
  run.begun(session, () => rpc.notify("session/cancel", { sessionId: session }));
  if (!held) await conversation.keep(session);
  sessions.add(session);
  await rpc.request("session/set_mode", { sessionId: session, modeId: modeOf(settings) });
  yield { type: "session", id: conversation.id };
  const calls = createAcpCalls();
  const askPerson = permissionQuestions({ services: ctx.services, turn, signal, tell: (event) => inbox.push({ kind: "note", event }) });
  const silence = rpc.listen(session, {
    onNotification(_, params) {
      const update = fieldsOf(params.update);
      calls.note(update);
      inbox.push({ kind: "update", update });
    },
    async onRequest(method, params) {
      if (method !== "session/request_permission") return undefined;
      const call = openCall(calls.whole(fieldsOf(params.toolCall)), settings);
      const may = mayRun(params, settings) || (call !== undefined && askPerson !== undefined && (await askPerson(call)).allow);
      if (signal.aborted) return { outcome: { outcome: "cancelled" } };
      const { allowed, result } = permissionAnswer(params, may);
      if (!allowed) inbox.push({ kind: "declined", toolCall: fieldsOf(params.toolCall) });
      return result;
    },
    onGone: (gone) => inbox.push({ kind: "gone", gone }),
  });
  const reader = createReader();
  let asked = false;
  let kept = false;
  try {
    // A session of the program's own that is new holds nothing.
    const unsent = await unsentLayers(ctx.store, route.conversation, held ? session : undefined, context.layers);
    const { blocks, note } = await acpPictures(ctx.media, context.media);
    const text = conversation.opening(held) + turnText({ ...context, layers: unsent.layers }) + note;
    rpc.request("session/prompt", { sessionId: session, prompt: [...blocks, { type: "text", text }] }, 0).then(
      (result) => inbox.push({ kind: "result", result }),
      (error: SvcError) => inbox.push(error.code === "SVC_RPC_REFUSED" ? { kind: "refused", error } : { kind: "update", update: {} }),
    );
    asked = true;
    if (signal.aborted) rpc.notify("session/cancel", { sessionId: session });
    for (;;) {
      const item = await inbox.next();
      if (item.kind === "gone") {
        yield goneFailure(item.gone, signal);
        return;
      }
      const over = item.kind === "result" || item.kind === "refused";
      if (over) run.over();
      // The vendor would refuse the program's partial turn later: do not resume this session.
      if (item.kind === "refused" || (item.kind === "result" && item.result.stopReason === "cancelled")) sessions.delete(session);
      else if (item.kind === "result") {
        await conversation.keep(session, { user: context.prompt, answer: reader.answer });
        await unsent.keep(session);
        kept = true;
      }
      if (item.kind === "note") yield item.event;
      else if (item.kind === "update") yield* reader.update(item.update);
      else if (item.kind === "declined") yield* reader.declined(item.toolCall, "permissionMode does not allow it");
      else yield* item.kind === "result" ? reader.end(item.result) : [refusal(item.error, reader.answer !== "")];
      if (over) return;
    }
  } finally {
    silence();
    // Store the prompt and the partial answer of the aborted run: "go on" continues from there.
    if (signal.aborted && asked && !kept) {
      const answer = `${reader.answer}\n[I was stopped here, before the end of my answer.]`.trim();
      await conversation
        .keep(session, { user: context.prompt, answer })
        .catch((error) => ctx.log.warn({ err: error, agent: agent.id }, "what was said in a stopped turn was not kept"));
    }
  }
}

/** The program tells on its standard error alone, often not before its end, and not which one. */
function noteServers(ctx: PluginContext<ProgramSection>, agent: string, line: string): void {
  if (/^MCP issues detected/.test(line))
    ctx.log.warn({ agent }, "tier cli-c: a tool server did not start; Gemini CLI does not tell which: run the commands in the workspace's .mcp.json by hand");
}

async function newSession({ rpc }: PooledEngine, workspace: string, taskId: string): Promise<string> {
  const opened = await rpc.request("session/new", { cwd: workspace, mcpServers: acpServers(await workspaceServers(workspace, taskId)) });
  return textOf(opened.sessionId) ?? "";
}

/** The file of settings that win over the operator's own. */
async function overrides(ctx: PluginContext<ProgramSection>, billing: ProgramSettings["billing"]): Promise<string> {
  const name = `settings-${billing}.json`;
  const wanted = overridesOf(billing);
  const found = await ctx.files.own.read(name, 64 * 1024).then(
    (bytes) => Buffer.from(bytes).toString(),
    () => undefined,
  );
  if (found !== wanted) await ctx.files.own.write(name, wanted);
  return ctx.files.own.resolve(name);
}
