import type { AgentAbilities, ChannelStatus, Health } from "@svc/kernel";
import { type Cli, oneLine, problemLine } from "../cli.ts";
import { ago } from "../table.ts";

interface AgentLine {
  readonly id: string;
  readonly tier: string;
}

interface EngineLine {
  readonly tier: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** A window of a budget, as reported by the plugin that counts it. */
interface BudgetLine {
  readonly agent: string;
  readonly period: string;
  readonly to: string;
  readonly caps: readonly { readonly measure: string; readonly used: number; readonly cap: number }[];
}

/** The plugin that measures the agents' usage. */
const BUDGETS = "feature-budgets";
/** An engine that takes longer to answer is shown without a word on it, in milliseconds. */
const PROBE_MS = 4_000;

/** Prints the operator's overview. `plugins` adds the complete list of them to the JSON. */
export async function status(cli: Cli, { plugins: listed }: { readonly plugins: boolean }): Promise<void> {
  const health = (await cli.request("GET", "/health")) as Health & { readonly folder?: string };
  if (health.plugins === undefined) {
    // Requested from another machine with --node.
    const more = "What runs there and what is not well is in: svc node list";
    cli.print(`It is ${health.state}${health.ok ? "" : ", and not ready for work"}. ${more}`, health);
    if (!health.ok) process.exitCode = 1;
    return;
  }
  const { host, port } = cli.address();
  const { agents } = (await cli.request("GET", "/agents")) as { agents: readonly AgentLine[] };
  const { channels } = (await cli.request("GET", "/channels")) as { channels: readonly ChannelStatus[] };
  const engines = await probe(cli, agents);
  const counts = new Map<string, number>();
  for (const { state } of health.plugins) counts.set(state, (counts.get(state) ?? 0) + 1);
  const { plugins, ...rest } = health;
  const budgets = plugins.some(({ id, state }) => id === BUDGETS && state === "running") ? await budgetsOf(cli) : undefined;
  const facts = {
    ...rest,
    address: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    folder: health.folder ?? cli.folder,
    ...(cli.note()?.log === undefined ? {} : { log: cli.logFile }),
    agents: agents.map(({ id, tier }) => ({ id, tier })),
    engines,
    channels: channels.map(({ name, state, reason, unsent }) => ({ name, state, ...(reason === undefined ? {} : { reason }), unsent })),
    plugins: listed ? plugins : Object.fromEntries(counts),
    ...(budgets === undefined ? {} : { budgets }),
  };
  cli.print(describe(facts, counts), facts);
  if (!health.ok) process.exitCode = 1;
}

type Facts = Omit<Health, "plugins"> & {
  readonly address: string;
  readonly folder: string;
  readonly log?: string;
  readonly agents: readonly AgentLine[];
  readonly engines: readonly EngineLine[];
  readonly channels: readonly Pick<ChannelStatus, "name" | "state" | "reason" | "unsent">[];
  readonly budgets?: readonly BudgetLine[];
};

function describe(facts: Facts, counts: ReadonlyMap<string, number>): string {
  const { node, state, version, pid, uptimeSeconds, address, folder, log, tasks, agents, engines, channels, lastCrash, problems, budgets = [] } = facts;
  const rows: (readonly [string, string])[] = [
    ["address", address],
    ["folder", folder],
    ["log", log ?? "where it was started: a terminal, or the journal of its unit"],
    ["tasks", `${tasks.running} running, ${tasks.queued} queued`],
    ["agents", agents.map(({ id, tier }) => `${id} (${tier})`).join(", ") || "none"],
    ["engines", engines.map(({ tier, ok, detail }) => `${tier} ${ok ? "ok" : `not usable: ${oneLine(detail)}`}`).join("; ")],
    ["channels", channels.map(({ name, state: now, reason }) => `${name} ${now}${reason === undefined ? "" : ` (${oneLine(reason)})`}`).join(", ") || "none"],
    ["plugins", [...counts].map(([what, count]) => `${count} ${what}`).join(", ")],
    ...budgets.filter(({ caps }) => caps.length > 0).map(budgetRow),
    ["last crash", lastCrash === undefined ? "none known" : `before the start of ${new Date(lastCrash).toLocaleString()}`],
  ];
  return [
    `${node.name} (${node.id}) is ${state}, version ${version}, pid ${pid}, up ${ago(uptimeSeconds * 1000)}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(11)} ${value}`),
    ...problems.map(problemLine),
  ].join("\n");
}

function budgetRow({ agent, period, to, caps }: BudgetLine): readonly [string, string] {
  const used = caps.map(({ measure, used: amount, cap }) => `${measure} ${Number(amount.toFixed(4))} of ${cap}`).join(", ");
  const full = caps.some(({ used: amount, cap }) => amount >= cap) ? `used up until ${to}: ` : "";
  return ["budget", `${agent === "*" ? "all agents" : agent}, this ${period}: ${full}${used}`];
}

/** A failure here must not hide the rest. */
const budgetsOf = (cli: Cli): Promise<readonly BudgetLine[] | undefined> =>
  (cli.request("GET", "/budgets") as Promise<{ budgets: readonly BudgetLine[] }>).then(
    ({ budgets }) => budgets,
    () => undefined,
  );

/** Probes one agent of each tier: its engine's state holds for the others. */
async function probe(cli: Cli, agents: readonly AgentLine[]): Promise<EngineLine[]> {
  const first = new Map(agents.map(({ id, tier }) => [tier, id] as const).toReversed());
  const { withTimeout } = await import("@svc/sdk");
  return Promise.all(
    [...first].map(([tier, id]) => {
      const asked = (cli.request("GET", `/agents/${encodeURIComponent(id)}/capability`) as Promise<AgentAbilities>).then(
        ({ engine }) => ({ tier, ...engine }),
        (error: Error) => ({ tier, ok: false, detail: error.message }),
      );
      return withTimeout(asked, PROBE_MS, (): EngineLine => ({ tier, ok: true, detail: "has not answered in time" }));
    }),
  );
}
