import { dirname } from "node:path";
import { type ChannelTraits, type ContextPart, type Delivery, type Inbound, reasonOf, type Turn } from "@svc/sdk";
import type { ChannelRender } from "../base/channel-render.ts";
import { loadEnvironment } from "../base/config-text/environment.ts";
import { contextDigest, contextTexts } from "../base/context-parts.ts";
import { fail } from "../base/errors.ts";
import { createScrubber } from "../base/log.ts";
import { stateStore } from "../base/state-store.ts";
import { build } from "../core/boot/assembly.ts";
import type { PluginStatus } from "../core/boot/kernel-api.ts";
import type { KernelParts } from "../core/boot/kernel-parts.ts";
import { locationsOf } from "../core/boot/locations.ts";
import { buildRuntime, type Runtime } from "../core/boot/runtime.ts";
import { describeProblems, entriesOf, examine } from "../core/config/configuration.ts";
import { openDocument } from "../core/config/document.ts";
import { answerOf } from "../core/flow/answer-delivery.ts";
import { createTask, type Task } from "../core/flow/live-task.ts";
import { prepareTurn, turnOf } from "../core/flow/prepare.ts";
import type { TaskRecord } from "../core/flow/record.ts";
import { baseContext, defaultRoute, refusalOf } from "../core/flow/routing.ts";
import { recordFacts } from "../core/flow/run-facts.ts";
import type { AgentTable } from "../core/host/agents.ts";
import { pluginScope } from "../core/host/context.ts";
import type { Live } from "../core/host/live.ts";
import { createHost } from "../core/host/plugin-host.ts";
import { createScope } from "../core/host/scope.ts";
import { partsOf } from "../delivery/parts.ts";
import { readEntry } from "../sources/source.ts";
import { closedCapabilities, closedParts } from "./closed-parts.ts";
import type { Finding, RehearsedDelivery, RehearsedTask } from "./rehearsed-task.ts";

/** Options of a rehearsal. */
export interface RehearsalOptions {
  /** Its folder is where relative paths start. */
  readonly file: string;
  /** Content of the file, current or proposed. */
  readonly text: string;
  /** Read, and never written. */
  readonly dataFolder: string;
  /** Folder with a copy of the store's state; it is written to. */
  readonly storeFolder: string;
  readonly known: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Code of others may run that the operator has not said to trust: this process has walls. */
  readonly walled: boolean;
  /** One more entry of `plugins`. */
  readonly plugin?: string;
}

/** One configuration with its plugins, ready to rehearse recorded tasks. */
export interface Rehearsal {
  readonly plugins: readonly PluginStatus[];
  /** Findings from setting up the plugins. */
  readonly findings: readonly Finding[];
  /** Rehearses the records of one turn, the lead first; `step` receives the name of the plugin that is called. Never rejects. */
  task(batch: Batch, step: (name: string) => void): Promise<RehearsedTask>;
  /** Records an uncaught error. */
  stray(error: unknown): void;
  /** Takes secrets of the configuration out of a text. */
  scrub(text: string): string;
  close(): Promise<void>;
}

/** The records of one turn. */
export type Batch = readonly [TaskRecord, ...TaskRecord[]];

/**
 * Sets up a kernel that rehearses tasks. Features are started; channels, engines and boards are set up and never started. Throws `SVC_CONFIG_*` for a
 * configuration that could not start.
 */
export async function openRehearsal(given: KernelParts, options: RehearsalOptions): Promise<Rehearsal> {
  const { file, text, dataFolder, known, walled } = options;
  const parts = closedParts(given, { trusted: walled });
  const folder = dirname(file);
  const env = loadEnvironment(folder, { ...options.env });
  const document = openDocument({ file, text }, env);
  // This process is confined already: a plugin that otherwise runs in its own process needs no confinement here.
  const listed = [...entriesOf(document), ...(options.plugin === undefined ? [] : [options.plugin])];
  const entries = listed.map((entry) => (readEntry(entry).off ? entry : readEntry(entry).name));
  const host = createHost({ parts, known, entries, inline: [], folder, searchFolders: [dataFolder], dataFolder, quarantine: "read", env });
  const configuration = await examine(document, host);
  const errors = configuration.checked.problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw fail("SVC_CONFIG_INVALID", { file, reason: describeProblems(errors) });
  const locations = { ...locationsOf({ config: file, env: { ...options.env } }), dataFolder, stateFolder: dataFolder };
  const assembly = await build({ parts, locations, host, configuration, log: undefined, now: Date.now });
  const { settings } = assembly;
  const findings: Finding[] = [];
  host.report({ incident: ({ plugin, what, reason }) => void findings.push({ plugin, what, reason }), recovered: () => {} });
  const provided = await host.setUpStore(configuration.wanted, { node: assembly.node, log: assembly.log, env });
  // Without a backup it would read state that is not a copy.
  if (provided.backup === undefined) throw fail("SVC_REHEARSAL_STORE", { store: provided.name });
  const store = stateStore(await provided.open({ folder: options.storeFolder, now: Date.now }));
  const { provide } = (await parts.http()).open({
    kernel: undefined,
    listen: false,
    config: () => settings.value,
    folder: dataFolder,
    instance: () => undefined,
    routes: () => [],
    authorities: () => [],
    scopes: host.tokenScopes,
    log: assembly.log,
  });
  const runtime = buildRuntime({
    assembly,
    store,
    http: { address: undefined, provide, requireServable: () => {}, serveFile: async () => {} },
    reload: () => Promise.reject(fail("SVC_KERNEL_STOPPED")),
    health: () => ({ ok: true, state: "running", uptimeSeconds: 0, tasks: { running: 0, queued: 0 }, plugins: [] }),
  });
  const contexts = { ...runtime.contexts, capabilities: closedCapabilities(runtime.contexts.capabilities) };
  await runtime.capabilities.ensure([...host.declared(), "render"]);
  await host.setUp(configuration.wanted, contexts);
  await host.start("feature");
  const render = runtime.capabilities.make(
    "render",
    pluginScope(
      createScope("feature-kernel", () => {}),
      () => {},
    ),
  ) as ChannelRender;
  const begun = findings.splice(0);
  return {
    plugins: host.statuses(),
    findings: begun,
    scrub: createScrubber(() => configuration.checked.secrets),
    stray(error) {
      if (!host.stray(error)) findings.push({ plugin: "unknown", what: "stray error", reason: reasonOf(error) });
    },
    async task(batch, step) {
      findings.length = 0;
      const seen = await rehearseTask(batch, { live: host.live, agents: settings.agents, runtime, render, step }).catch((error: Error) => ({
        ended: error.message,
      }));
      return { id: batch[0].id, ...seen, findings: findings.splice(0) };
    },
    async close() {
      await host.stop();
      await runtime.close();
      await store.close();
      await host.stopStore();
    },
  };
}

interface Asked {
  readonly live: Live;
  readonly agents: AgentTable;
  readonly runtime: Runtime;
  readonly render: ChannelRender;
  step(name: string): void;
}

/** Runs the steps of `pipeline.ts` for tasks that have ended: the taps are called again, and the recorded answer replaces the engine's. */
async function rehearseTask(recorded: Batch, { live, agents, runtime, render, step }: Asked): Promise<Omit<RehearsedTask, "id" | "findings">> {
  const [first] = recorded;
  const inbound: Inbound = { ...first.inbound, attempts: 0 };
  const rejection = await live.hooks.inbound(inbound, { step });
  if (rejection !== undefined) return { ended: `dropped: ${rejection.reject}` };
  const route = first.pinned ?? (await live.hooks.route(inbound, { step })) ?? defaultRoute(inbound, agents);
  if (route === undefined) return { ended: "dropped: it addresses no agent" };
  const settings = agents.settings(route.agent, route.node);
  if (settings === undefined) return { route, ended: `refused: there is no agent '${route.agent}'` };
  const refusal = refusalOf(inbound, route, settings);
  if (refusal !== undefined) return { route, ended: `refused: ${refusal.message}` };
  const facts = { status: "in-flight" as const, agent: route.agent, conversation: route.conversation, route, steps: [] };
  const task = (record: TaskRecord): Task => createTask({ ...record, ...facts, inbound: { ...record.inbound, attempts: 0 } }, live);
  const [lead, ...merged] = recorded.map(task) as [Task, ...Task[]];
  const prepared = route.node === undefined ? await prepare(lead, merged) : {};
  if ("ended" in prepared) return { route, ...prepared };
  const delivery = await deliveryOf({ ...lead.record, status: first.status }, first, { live, runtime, render });
  return { route, ...prepared, ...(delivery === undefined ? {} : { delivery }) };

  async function prepare(one: Task, others: readonly Task[]): Promise<Pick<RehearsedTask, "session" | "context" | "skipped" | "ended">> {
    const turn: Turn = { ...turnOf([one, ...others], settings as NonNullable<typeof settings>, new Promise(() => {}), first.startedAt), rehearsed: true };
    const { steps } = one.record;
    const control = { signal: one.abort.signal, prepareSeconds: settings?.preSpawnTimeoutSec ?? 0, steps, step };
    // No tap may take the turn: that would begin work.
    const untaken = { ...live, hooks: { ...live.hooks, dispatch: () => undefined } };
    try {
      const { context } = await prepareTurn(turn, baseContext(turn), untaken, control);
      const skipped = steps.map(({ name, error = "" }) => `${name} ${error}`);
      const { session } = context;
      const digest = contextDigest(context);
      return {
        context: contextTexts(context).map((part, at) => ({ ...(digest[at] as ContextPart), ...part })),
        ...(session === undefined ? {} : { session }),
        ...(skipped.length === 0 ? {} : { skipped }),
      };
    } catch (error) {
      return { ended: `not prepared: ${(error as Error).message}` };
    }
  }
}

/** Returns the recorded answer as the `deliver` taps and the channel would render it. */
async function deliveryOf(
  record: TaskRecord,
  recorded: TaskRecord,
  { live, runtime, render }: Omit<Asked, "agents" | "step">,
): Promise<RehearsedDelivery | undefined> {
  if (recorded.status === "in-flight") return undefined;
  const { deliveries } = runtime;
  // One that was withheld is an answer that the engine gave.
  const status = recorded.errorKind === "held" ? "ok" : recorded.status;
  const outcome = { ...(status === "ok" ? {} : recordFacts(recorded)), status, reply: recorded.response ?? "" };
  const { delivery, outcome: answered } = await answerOf(record, live.hooks, outcome, deliveries);
  const target = record.route?.reply;
  if (target === undefined) return undefined;
  const { channel, chat, account, thread } = delivery?.target ?? target;
  const text = delivery?.text ?? answered.reply;
  const held = delivery?.held ?? (answered.errorKind === "held" ? answered.error : undefined);
  if (text === "" && held === undefined) return undefined;
  return {
    channel,
    chat,
    ...(account === undefined ? {} : { account }),
    ...(thread === undefined ? {} : { thread }),
    ...(held === undefined ? {} : { held }),
    parts: shownParts(text, delivery, live.channels.get(channel)?.thing.traits, render),
  };
}

function shownParts(text: string, delivery: Delivery | undefined, traits: ChannelTraits | undefined, render: ChannelRender): readonly string[] {
  return delivery === undefined || traits === undefined ? [text] : partsOf(text, traits, render).map((part) => part.text);
}
