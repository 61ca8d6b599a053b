import { type PluginContext, type SvcError, svcError, type TierEvent, type Turn, type TurnContext, turnText } from "@svc/sdk";
import {
  type AcpAgent,
  acpAgentOf,
  acpPictures,
  createAcpCalls,
  createEnginePool,
  createInbox,
  createToolServers,
  type Fields,
  fieldsOf,
  goneFailure,
  type LineRpc,
  type PooledRun,
  permissionAnswer,
  permissionQuestions,
  type RpcGone,
  readTranscript,
  runOnPool,
  type ToolServers,
  textOf,
  unsentLayers,
} from "@svc/sdk/engine";
import { programSettings } from "@svc/sdk/program-tier";
import { launchOf } from "./launch.ts";
import { mayRun, modeOf, openCall } from "./permission.ts";
import { createReader, refusal } from "./reader.ts";
import { type AcpProcess, chooseMode, chooseModel, openSession, serversFor } from "./session.ts";
import { type AcpSettings, acpSettings } from "./settings.ts";

/** The version of the protocol that this tier speaks. */
const VERSION = 1;

type News =
  | { readonly kind: "update"; readonly update: Fields }
  | { readonly kind: "note"; readonly event: TierEvent }
  | { readonly kind: "declined"; readonly toolCall: Fields }
  | { readonly kind: "result"; readonly result: Fields }
  | { readonly kind: "refused"; readonly error: SvcError }
  | { readonly kind: "gone"; readonly gone: RpcGone };

/**
 * Introduces the daemon to a program. No file system and no terminal is offered: the program works with its own tools, within what its
 * user may. Rejects with `SVC_ACP_VERSION` when it speaks another version of the protocol.
 */
export async function introduce(rpc: LineRpc): Promise<AcpAgent> {
  const agent = acpAgentOf(
    await rpc.request("initialize", {
      protocolVersion: VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "svc", version: "0.1.0" },
    }),
  );
  if (agent.version !== VERSION)
    throw svcError("SVC_ACP_VERSION", `tier acp: the program speaks version ${agent.version} of the Agent Client Protocol, this tier version ${VERSION}.`, {
      kind: "protocol",
    });
  return agent;
}

/** Signs in by the way that the settings name, if any. */
export async function signIn(rpc: LineRpc, methodId: string | undefined): Promise<void> {
  if (methodId !== undefined) await rpc.request("authenticate", { methodId });
}

/**
 * Runs turns for one plugin:
 *
 *   settings -> process: shared and warm, else its own -> session: held, resumed, loaded, else new -> words in, updates out -> stop reason
 *      |           (initialize, authenticate)               (told what was said before)  |                       |
 *      '-> error, nothing started                                       abort: session/cancel, then end the tree |
 *                                                                             process given back, or ended <-----'
 */
export function createRunner(ctx: PluginContext<AcpSettings>): (turn: Turn, context: TurnContext, signal: AbortSignal) => AsyncGenerator<TierEvent> {
  const processes = new WeakMap<LineRpc, AcpProcess>();
  const servers = createToolServers(ctx.log, "tier acp");
  const engines = createEnginePool({
    spawn: ctx.spawn,
    warm: ctx.warm,
    name: "acp",
    handshake: async (rpc) => void processes.set(rpc, { rpc, agent: await introduce(rpc), sessions: new Map() }),
  });
  return (turn, context, signal) => {
    let agent: AcpAgent | undefined;
    return runOnPool(engines, {
      launch: () => ({ ...launchOf(ctx, turn.agent), taskId: turn.id }),
      shared: programSettings(turn.agent).persistentProcess,
      signal,
      refusal: (error) => refusal(error, agent),
      converse(run) {
        const process = processes.get(run.engine.rpc) as AcpProcess;
        agent = process.agent;
        return converse({ ctx, servers, process, turn, context, signal, run });
      },
    });
  };
}

interface Conversing {
  readonly ctx: PluginContext<AcpSettings>;
  readonly servers: ToolServers;
  readonly process: AcpProcess;
  readonly turn: Turn;
  readonly context: TurnContext;
  readonly signal: AbortSignal;
  readonly run: PooledRun;
}

async function* converse({ ctx, servers, process, turn, context, signal, run }: Conversing): AsyncGenerator<TierEvent> {
  const { rpc, agent: program, sessions } = process;
  const { agent, route, messages } = turn;
  const settings = programSettings(agent);
  const { authMethod, modes = {} } = acpSettings(ctx.config, agent);
  const inbox = createInbox<News>();
  const transcript = await readTranscript(ctx.store, route.conversation, context);
  if (sessions.size === 0) await signIn(rpc, authMethod);
  const given = await serversFor(program, turn, servers.of(agent.id));
  yield* given.events;
  const session = await openSession(ctx, process, { workspace: agent.workspace, native: transcript.native, servers: given.servers });
  const { id, held } = session;
  const cancel = () => rpc.notify("session/cancel", { sessionId: id });
  run.begun(id, cancel);
  run.engine.opened.add(id);
  if (!held) await transcript.keep(id);
  const { permissionMode } = settings;
  await chooseMode(session, modeOf(permissionMode, session.modes?.offered ?? [], modes[permissionMode]), permissionMode === "plan" ? "plan" : undefined);
  await chooseModel(session, messages[0].options?.model ?? agent.model);
  yield { type: "session", id: transcript.id };
  const calls = createAcpCalls();
  const askPerson = permissionQuestions({ services: ctx.services, turn, signal, tell: (event) => inbox.push({ kind: "note", event }) });
  const silence = rpc.listen(id, {
    onNotification(method, params) {
      if (method !== "session/update") return;
      const update = fieldsOf(params.update);
      calls.note(update);
      inbox.push({ kind: "update", update });
    },
    async onRequest(method, params) {
      if (method !== "session/request_permission") return undefined;
      const call = openCall(calls.whole(fieldsOf(params.toolCall)), settings);
      const may = mayRun(params, settings, agent.workspace) || (call !== undefined && askPerson !== undefined && (await askPerson(call)).allow);
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
  let declined: string | undefined;
  try {
    const unsent = await unsentLayers(ctx.store, route.conversation, held ? id : undefined, context.layers);
    const prompt = await promptOf(ctx, program, context, (note) => transcript.opening(held) + turnText({ ...context, layers: unsent.layers }) + note);
    rpc.request("session/prompt", { sessionId: id, prompt }, 0).then(
      (result) => inbox.push({ kind: "result", result }),
      (error: SvcError) => error.code === "SVC_RPC_REFUSED" && inbox.push({ kind: "refused", error }),
    );
    asked = true;
    if (signal.aborted) cancel();
    for (;;) {
      const item = await inbox.next();
      if (item.kind === "gone") {
        yield goneFailure(item.gone, signal);
        return;
      }
      if (item.kind === "note") yield item.event;
      else if (item.kind === "update") yield* reader.update(item.update);
      else if (item.kind === "declined") {
        declined = textOf(item.toolCall.title) ?? "a tool call";
        yield* reader.declined(item.toolCall, "permissionMode does not allow it");
      } else {
        run.over();
        if (item.kind === "result" && item.result.stopReason !== "cancelled") {
          await transcript.keep(id, { user: context.prompt, answer: reader.answer });
          await unsent.keep(id);
          kept = true;
        }
        if (item.kind === "refused") yield refusal(item.error, program, reader.answer !== "");
        // Some programs end their turn with the first call that they may not make.
        else yield* reader.end(item.result, signal.aborted ? undefined : declined);
        return;
      }
    }
  } finally {
    silence();
    // Store the prompt and the partial answer of the aborted run: "go on" continues from there, in another session too.
    if (signal.aborted && asked && !kept) {
      const answer = `${reader.answer}\n[I was stopped here, before the end of my answer.]`.trim();
      await transcript
        .keep(id, { user: context.prompt, answer })
        .catch((error) => ctx.log.warn({ err: error, agent: agent.id }, "what was said in a stopped turn was not kept"));
    }
  }
}

/** Returns the turn as content blocks: pictures first, if the program accepts them, then the text. The text names files that are not passed on. */
async function promptOf(
  ctx: PluginContext<AcpSettings>,
  { images }: AcpAgent,
  { media }: TurnContext,
  words: (note: string) => string,
): Promise<readonly Fields[]> {
  const { blocks, note } = await acpPictures(ctx.media, media);
  if (images || blocks.length === 0) return [...blocks, { type: "text", text: words(note) }];
  return [{ type: "text", text: words(`${note}\n\n[${blocks.length} pictures are not passed on: the program takes none.]`) }];
}
