import { type ApprovalDecision, type Approvals, codeOf, type PluginContext, reasonOf, type Turn, type TurnContext } from "@svc/sdk";
import { type Drafted, detailOf, draftFrom } from "./drafting.ts";
import { graphError } from "./graph-errors.ts";
import { type BrokenFile, type Draft, type GraphFolder, openGraphFolder } from "./graph-folder.ts";
import type { GraphChange, GraphNode } from "./graph-node.ts";
import { find, type Hit, intentLayer } from "./retrieval.ts";
import type { GraphSettings } from "./settings.ts";

/** The graph, once something of it is needed. */
export interface Opened {
  readonly folder: GraphFolder;
  withIntent(context: TurnContext, turn: Turn): Promise<TurnContext>;
  list(): Promise<{ readonly nodes: readonly GraphNode[]; readonly broken: readonly BrokenFile[] }>;
  /** Throws `SVC_GRAPH_UNKNOWN`. */
  show(id: string): Promise<GraphNode>;
  find(request: string): Promise<readonly Hit[]>;
  draftFrom(given: { readonly text?: string; readonly task?: string }): Promise<readonly Drafted[]>;
  promote(id: string): Promise<GraphChange>;
  reject(id: string, reason: string | undefined): Promise<string>;
  /** Hears what people decide about drafts, again when the plugin that asks them was started anew. */
  listen(): void;
}

const KIND = "graph";
/** As many questions as are listed at once. */
const MOST_ASKED = 1_000;

/** Opens the folder of `settings`. */
export function openGraph(ctx: PluginContext<GraphSettings>, settings: () => GraphSettings): Opened {
  let opened: { readonly dir: string; readonly folder: GraphFolder } | undefined;
  const folder = (): GraphFolder => {
    const { baseDir: dir } = settings();
    if (opened?.dir !== dir) opened = { dir, folder: openGraphFolder(ctx.files, dir) };
    return opened.folder;
  };
  const keyOf = (id: string) => `graph:${settings().baseDir}:${id}`;
  let heard: Approvals | undefined;

  /** People are asked where they are asked about other things, too; the draft's file is what counts. */
  async function ask(id: string): Promise<void> {
    const approvals = ctx.services.get("approvals");
    if (approvals === undefined) return;
    const draft = await folder().draft(id);
    const { change } = draft;
    if (change === undefined) return;
    await approvals.ask({
      kind: KIND,
      title: `Intent graph: ${change.change} the node ${change.node.id}?`,
      detail: detailOf(draft),
      digest: draft.digest,
      requestedBy: change.by === undefined ? "the intent graph" : `agent ${change.by}`,
      key: keyOf(id),
    });
  }

  async function decided({ key, digest, state }: ApprovalDecision): Promise<void> {
    // Taken back by us: the draft was decided about elsewhere.
    if (state === "withdrawn") return;
    const drafts: readonly Draft[] = await folder().drafts();
    const draft = drafts.find((one) => keyOf(one.id) === key && one.digest === digest);
    // Decided elsewhere, or another draft by now.
    if (draft === undefined) return;
    try {
      if (state === "approved") await folder().promote(draft.id);
      else await folder().reject(draft.id, state === "expired" ? "nobody decided in time" : "a person said no", new Date());
    } catch (error) {
      if (codeOf(error) !== "SVC_GRAPH_CHANGE") throw error;
      ctx.log.warn({ draft: draft.id, reason: reasonOf(error) }, "an approved change of the intent graph cannot be made any more; its draft stays");
    }
  }

  const withdraw = async (id: string): Promise<void> => {
    const approvals = ctx.services.get("approvals");
    const open = (await approvals?.list({ open: true, kind: KIND, limit: MOST_ASKED }))?.find(({ key }) => key === keyOf(id));
    if (open !== undefined) await approvals?.withdraw(open.id, "the draft was decided about on the command line");
  };

  async function words({ text, task }: { readonly text?: string; readonly task?: string }): Promise<string> {
    if (text !== undefined) return text;
    const trace = await ctx.traces.get(task ?? "");
    if (trace?.message === undefined) throw graphError("SVC_GRAPH_TASK", { id: task });
    return `Request:\n${trace.message}\n\nAnswer:\n${trace.response ?? ""}`;
  }

  return {
    get folder() {
      return folder();
    },
    async withIntent(context) {
      const { nodes } = await folder().nodes();
      const layer = intentLayer(find(nodes, context.prompt, settings().retrievalWeights), nodes);
      return layer.text === "" ? context : { ...context, layers: [...context.layers, layer] };
    },
    async list() {
      const { nodes, broken } = await folder().nodes();
      return { nodes: [...nodes.values()], broken };
    },
    async show(id) {
      const node = (await folder().nodes()).nodes.get(id);
      if (node === undefined) throw graphError("SVC_GRAPH_UNKNOWN", { id });
      return node;
    },
    async find(request) {
      return find((await folder().nodes()).nodes, request, settings().retrievalWeights);
    },
    async draftFrom(given) {
      const drafted = await draftFrom(ctx, folder(), settings(), await words(given));
      for (const { draft } of drafted) {
        if (draft !== undefined)
          await ask(draft).catch((error) => ctx.log.warn({ draft, reason: reasonOf(error) }, "nobody was asked about a draft of the intent graph"));
      }
      // Facts alone: what was drafted stands in the files.
      const of = (outcome: Drafted["outcome"]) => drafted.filter((one) => one.outcome === outcome).length;
      const data = { applied: of("applied") + of("reviewed"), drafts: of("draft"), dropped: of("dropped") };
      ctx.events.publish({
        kind: KIND,
        type: "graph:drafted",
        summary: `${data.applied} changes of the intent graph applied, ${data.drafts} wait for review`,
        data,
      });
      return drafted;
    },
    async promote(id) {
      const change = await folder().promote(id);
      await withdraw(id);
      return change;
    },
    async reject(id, reason) {
      const file = await folder().reject(id, reason, new Date());
      await withdraw(id);
      return file;
    },
    listen() {
      const approvals = ctx.services.get("approvals");
      if (approvals === undefined || approvals === heard) return;
      approvals.onDecided(KIND, decided);
      heard = approvals;
    },
  };
}
