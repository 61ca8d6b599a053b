import { definePlugin, LAYERS, type Layer, type Lifecycle, type Turn, type TurnContext } from "@svc/sdk";
import { CAP, fitLayers, sizeOf } from "./cap.ts";
import { asLines, createHistory, fitMessages, type Place, speakerOf } from "./history.ts";
import { artifacts, channelRules, identity, landscape, scope, wikiHint } from "./layers.ts";
import { createPreamble } from "./preamble.ts";
import { references } from "./references.ts";
import { createRemark } from "./remark.ts";
import { headed } from "./words.ts";

/** Before the strategies, which choose from the history. */
const EARLY = -50;
/** After all that add layers. */
const LATE = 100;
/** After all that may rewrite an answer. */
const LAST = 1_000;
/** How turns end that were stopped in the middle. */
const STOPPED: ReadonlySet<string> = new Set(["cancelled", "timeout", "cut"]);
const stoppedAnswer = (said = ""): string =>
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
  capabilities: ["files", "agents", "events", "traces"],
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
    /** Turns that run, by task: what was asked and answered, and where its history is. */
    const running = new Map<string, { readonly place: Place; readonly from?: string; readonly text: string; answer?: string }>();

    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const [message] = turn.messages;
        const place = { agent: turn.agent.id, channel: message.channel, chat: message.chat };
        const from = speakerOf(message);
        running.set(turn.id, { place, text: context.prompt, ...(from === undefined ? {} : { from }) });
        // A session that goes on has it all.
        if (context.session !== undefined) return context;
        const past = history.recent(place, turn.startedAt);
        return past instanceof Promise ? past.then((loaded) => ({ ...context, history: loaded })) : { ...context, history: past };
      },
      { stage: EARLY, step: "history" },
    );

    // Events carry no answers.
    ctx.hooks.deliver.tap(
      (delivery) => {
        const run = delivery.taskId === undefined || delivery.kind !== "reply" ? undefined : running.get(delivery.taskId);
        if (run !== undefined) run.answer = delivery.text;
        return delivery;
      },
      { stage: LAST },
    );

    ctx.events.subscribe(({ ref = "", at, data = {} }) => {
      const run = running.get(ref);
      running.delete(ref);
      if (run === undefined) return;
      const { place, answer, ...said } = run;
      const exchange = { at: Date.parse(at), ...said };
      if (data.status === "ok" && answer !== undefined) history.note(place, { ...exchange, answer });
      // What was asked and half answered is what "go on" goes on from. Its words are in the trace alone.
      else if (STOPPED.has(String(data.errorKind)))
        history.noteLater(
          place,
          ctx.traces.get(ref).then((trace) => ({ ...exchange, answer: stoppedAnswer(trace?.response) })),
        );
    }, "task:completed");

    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const system = preamble.of(turn.agent);
        if (turn.agent.settings.contextReferences !== true && typeof system === "string") return assembled(context, turn, system, []);
        return Promise.all([system, ...(turn.agent.settings.contextReferences === true ? [verifiedOf(turn)] : [])]).then(([text, ...verified]) =>
          assembled(context, turn, text, verified),
        );
      },
      { stage: LATE, step: "context" },
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
      const told = fitMessages(past.messages, CAP - size);
      const characters = size + told.characters;
      if (characters > REMARKABLE) remark(turn.agent.id, characters);
      return { ...context, system, layers, history: told.messages, strategy: context.strategy ?? "layered" };
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
