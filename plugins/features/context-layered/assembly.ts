import { LAYERS, type Layer, type PluginContext, type Turn, type TurnContext, type TurnEnd } from "@svc/sdk";
import { CAP, fitLayers, sizeOf } from "./cap.ts";
import { saidAnywhere, stoppedAnswer } from "./elsewhere.ts";
import { asLines, type Chat, createHistory, type Exchange, fitMessages, speakerOf } from "./history.ts";
import { landscape, type Surroundings } from "./landscape.ts";
import { artifacts, channelRules, identity, scope, wikiHint } from "./layers.ts";
import { createPreamble } from "./preamble.ts";
import { references } from "./references.ts";
import { createRemark } from "./remark.ts";
import { headed } from "./words.ts";

/** Assembly of the context of turns, with caches between them. */
export interface Assembly {
  /** The context with what was said before in the chat; how the turn ends is noted there. */
  withPast(context: TurnContext, turn: Turn): TurnContext | Promise<TurnContext>;
  /** The context with the preamble and the layers of this turn, within the cap. */
  fitted(context: TurnContext, turn: Turn): TurnContext | Promise<TurnContext>;
  /** Resolves when everything noted so far is written. */
  settled(): Promise<void>;
}

/** Of layers and history together (000:L357). */
const REMARKABLE = 16_000;

/** Milliseconds for which the state of the channels is kept. */
const CHANNELS_MS = 1_000;

/** Puts contexts together with the files and agents of `ctx`; what cannot be read is left out and logged. */
export function createAssembly(ctx: PluginContext): Assembly {
  const history = createHistory(
    () => ctx.files.own,
    (error) => ctx.log.warn({ err: error }, "the history of a chat could not be read or written"),
  );
  const preamble = createPreamble(
    (workspace) => ctx.files.under(workspace),
    (file, error) => ctx.log.warn({ err: error }, `${file} of a workspace was not read`),
  );
  const remark = createRemark(ctx.log, REMARKABLE);

  function withPast(context: TurnContext, turn: Turn): TurnContext | Promise<TurnContext> {
    const [message] = turn.messages;
    const chat = { agent: turn.agent.id, channel: message.channel, chat: message.chat };
    const from = speakerOf(message);
    void turn.ended.then((end) => note(chat, { text: context.prompt, ...(from === undefined ? {} : { from }) }, end));
    // A session that goes on has it all.
    if (context.session !== undefined) return context;
    if (turn.movedFrom !== undefined) return broughtHere(chat, turn.startedAt).then((loaded) => ({ ...context, history: loaded }));
    const past = turn.rehearsed === true ? history.before(chat, turn.startedAt) : history.recent(chat, turn.startedAt);
    return past instanceof Promise ? past.then((loaded) => ({ ...context, history: loaded })) : { ...context, history: past };
  }

  /** Its history so far is in the files of another node: it is noted here, too, for the sessions after this one. */
  async function broughtHere(chat: Chat, now: number): Promise<TurnContext["history"]> {
    await history.complete(chat, await saidAnywhere(ctx.traces, chat, now), now);
    return history.recent(chat, now);
  }

  function note(chat: Chat, asked: Pick<Exchange, "text" | "from">, { result, answer, at, replaced }: TurnEnd): void {
    if (replaced) return;
    if (answer !== undefined) history.note(chat, { at, ...asked, answer });
    else {
      // Store the prompt and the partial answer: "go on" continues from there.
      const stopped = stoppedAnswer(result.errorKind, result.reply);
      if (stopped !== undefined) history.note(chat, { at, ...asked, answer: stopped });
    }
  }

  function fitted(context: TurnContext, turn: Turn): TurnContext | Promise<TurnContext> {
    const system = preamble.of(turn.agent);
    if (turn.agent.settings.contextReferences !== true && typeof system === "string") return assembled(context, turn, system, []);
    return Promise.all([system, ...(turn.agent.settings.contextReferences === true ? [verifiedOf(turn)] : [])]).then(([text, ...verified]) =>
      assembled(context, turn, text, verified),
    );
  }

  function assembled(context: TurnContext, turn: Turn, system: string, verified: readonly Layer[]): TurnContext {
    const past = pastOf(context, turn);
    const layers = fitLayers([
      ...context.layers,
      channelRules(turn),
      scope(turn),
      landscape(turn, { agents: ctx.agents.list(), node: ctx.node.name, ...around() }),
      identity(turn),
      ...verified,
      artifacts(turn),
      ...past.layers,
    ]).filter(({ text, whole }) => text !== "" || whole !== undefined);
    const size = sizeOf(layers);
    const kept = fitMessages(past.messages, CAP - size);
    const characters = size + kept.characters;
    if (characters > REMARKABLE) remark(turn.agent.id, characters);
    return { ...context, system, layers, history: kept.messages, strategy: context.strategy ?? "layered" };
  }

  let looked = { at: Number.NEGATIVE_INFINITY, channels: undefined as Surroundings["channels"] };
  /** Cached: the health, of which the channels are a part, is too costly to build for each turn. */
  function channelsNow(): Surroundings["channels"] {
    const at = performance.now();
    if (at - looked.at > CHANNELS_MS) looked = { at, channels: ctx.health().channels };
    return looked.channels;
  }

  function around(): Pick<Surroundings, "peers" | "channels"> {
    const peers = ctx.services.get("peers")?.list();
    const channels = channelsNow();
    return { ...(peers === undefined ? {} : { peers }), ...(channels === undefined ? {} : { channels }) };
  }

  async function verifiedOf({ agent }: Turn): Promise<Layer> {
    return references(ctx.files.under(agent.workspace)).catch((error) => {
      ctx.log.warn({ err: error, agent: agent.id }, "the verified references of the workspace were not read");
      return { name: "references", priority: LAYERS.references, text: "" };
    });
  }

  return { withPast, fitted, settled: () => history.settled() };
}

/** Returns the history: as messages for tiers that store none, as a layer for a new session of one that does. */
function pastOf(context: TurnContext, { nativeSessions }: Turn): { readonly layers: readonly Layer[]; readonly messages: TurnContext["history"] } {
  const hint = context.strategy === undefined ? [wikiHint] : [];
  if (!nativeSessions) return { layers: hint, messages: context.history };
  const text = headed("Earlier in this conversation", asLines(context.history));
  return { layers: [{ name: "history", priority: LAYERS.history, text }, ...hint], messages: [] };
}
