import { definePlugin, LAYERS, type Layer, type Lifecycle, type Turn, type TurnContext, type TurnEnd } from "@svc/sdk";
import { CAP, fitLayers, sizeOf } from "./cap.ts";
import { asLines, type Chat, createHistory, type Exchange, fitMessages, speakerOf } from "./history.ts";
import { artifacts, channelRules, identity, landscape, scope, wikiHint } from "./layers.ts";
import { createPreamble } from "./preamble.ts";
import { references } from "./references.ts";
import { createRemark } from "./remark.ts";
import { headed } from "./words.ts";

/** How turns end that were stopped in the middle. */
const STOPPED: ReadonlySet<string> = new Set(["cancelled", "timeout", "cut"]);
const stoppedAnswer = (said: string): string =>
  said === "" ? "[I was stopped before I had answered.]" : `${said}\n[I was stopped here, before the end of my answer.]`;
/** Of layers and history together (000:L357). */
const REMARKABLE = 16_000;

/**
 * What an agent is told on a turn (000:L35): the preamble that stays the same, and up to eight layers of this turn, within 6000 tokens.
 * For a turn that another strategy has built it adds the preamble and the layers without the past, and holds the cap.
 */
export default definePlugin({
  kind: "feature",
  name: "context-layered",
  version: "0.1.0",
  svc: "^0.1.0",
  default: true,
  strategies: ["layered"],
  agentConfig: {
    type: "object",
    properties: {
      contextReferences: { type: "boolean", default: false, description: "add the verified references of the workspace" },
      richMessages: { type: "boolean", default: true, description: "buttons, polls and media; false is plain text only" },
    },
  },
  capabilities: ["files", "agents"],
  setup(ctx): Lifecycle {
    const history = createHistory(
      () => ctx.files.own,
      (error) => ctx.log.warn({ err: error }, "the history of a chat could not be read or written"),
    );
    const preamble = createPreamble(
      (workspace) => ctx.files.under(workspace),
      (file, error) => ctx.log.warn({ err: error }, `${file} of a workspace was not read`),
    );
    const remark = createRemark(ctx.log, REMARKABLE);
    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const [message] = turn.messages;
        const chat = { agent: turn.agent.id, channel: message.channel, chat: message.chat };
        const from = speakerOf(message);
        void turn.ended.then((end) => note(chat, { text: context.prompt, ...(from === undefined ? {} : { from }) }, end));
        // A session that goes on has it all.
        if (context.session !== undefined) return context;
        const past = history.recent(chat, turn.startedAt);
        return past instanceof Promise ? past.then((loaded) => ({ ...context, history: loaded })) : { ...context, history: past };
      },
      { phase: "history", step: "history" },
    );

    function note(chat: Chat, asked: Pick<Exchange, "text" | "from">, { result, answer, at, replaced }: TurnEnd): void {
      if (replaced) return;
      if (answer !== undefined) history.note(chat, { at, ...asked, answer });
      // What was asked and half answered is what "go on" goes on from.
      else if (STOPPED.has(result.errorKind ?? "")) history.note(chat, { at, ...asked, answer: stoppedAnswer(result.reply) });
    }

    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const system = preamble.of(turn.agent);
        if (turn.agent.settings.contextReferences !== true && typeof system === "string") return assembled(context, turn, system, []);
        return Promise.all([system, ...(turn.agent.settings.contextReferences === true ? [verifiedOf(turn)] : [])]).then(([text, ...verified]) =>
          assembled(context, turn, text, verified),
        );
      },
      { phase: "fit", step: "context" },
    );

    function assembled(context: TurnContext, turn: Turn, system: string, verified: readonly Layer[]): TurnContext {
      const past = pastOf(context, turn);
      const layers = fitLayers([
        ...context.layers,
        channelRules(turn),
        scope(turn),
        landscape(turn, ctx.agents.list(), ctx.node.name),
        identity(turn),
        ...verified,
        artifacts(turn),
        ...past.layers,
      ]).filter(({ text }) => text !== "");
      const size = sizeOf(layers);
      const fitted = fitMessages(past.messages, CAP - size);
      const characters = size + fitted.characters;
      if (characters > REMARKABLE) remark(turn.agent.id, characters);
      return { ...context, system, layers, history: fitted.messages, strategy: context.strategy ?? "layered" };
    }

    async function verifiedOf({ agent }: Turn): Promise<Layer> {
      return references(ctx.files.under(agent.workspace)).catch((error) => {
        ctx.log.warn({ err: error, agent: agent.id }, "the verified references of the workspace were not read");
        return { name: "references", priority: LAYERS.references, text: "" };
      });
    }

    return { stop: () => history.settled() };
  },
});

/** What was said before: as messages for tiers that keep nothing, as a layer for a new session of one that does. */
function pastOf(context: TurnContext, { nativeSessions }: Turn): { readonly layers: readonly Layer[]; readonly messages: TurnContext["history"] } {
  const hint = context.strategy === undefined ? [wikiHint] : [];
  if (!nativeSessions) return { layers: hint, messages: context.history };
  const text = headed("Earlier in this conversation", asLines(context.history));
  return { layers: [{ name: "history", priority: LAYERS.history, text }, ...hint], messages: [] };
}
