import { existsSync } from "node:fs";
import type { AgentAbilities, PluginStatus } from "@svc/kernel";
import { SDK_VERSION } from "@svc/sdk";
import { added, calledAs, firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { checkStore } from "../doctor/database.ts";
import { error, type Finding, ok, warning } from "../doctor/finding.ts";
import { checkPlace, checkWorkspaces } from "../doctor/place.ts";
import { checkPort } from "../doctor/port.ts";
import { NO_DAEMON } from "../exit.ts";
import type { OwnGroup } from "../group.ts";
import { kernelCode } from "../kernel-code.ts";
import { quantity } from "../quantity.ts";

const group: OwnGroup = {
  name: "doctor",
  summary: "Look for what is wrong and say what to do about it",
  commands: [{ name: "doctor", args: "", summary: "Look for what is wrong and say what to do about it", run: (_args, _options, cli) => doctor(cli) }],
};

export default group;

async function doctor(cli: Cli): Promise<void> {
  const running = await daemon(cli);
  const down = running === undefined;
  const findings = [
    node(),
    ...checkPlace(cli),
    ...(await checkStore(cli)),
    ...(await configuration(cli, down)),
    ...(running ?? (await checkPort(cli))),
    ...(running?.[0]?.level === "ok" ? [...(await engines(cli)), ...(await skills(cli))] : []),
  ];
  const marks = { ok: "ok     ", warning: "warning", error: "ERROR  " };
  cli.print(findings.map(({ level, text }) => `${marks[level]}  ${text}`).join("\n"), findings);
  if (findings.some(({ level }) => level === "error")) process.exitCode = 1;
}

function node(): Finding {
  const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);
  const fine = major > 20 || (major === 20 && (minor > 20 || (minor === 20 && patch >= 2)));
  return fine
    ? { level: "ok", text: `Node.js ${process.versions.node}` }
    : { level: "error", text: `Node.js ${process.versions.node} has known crashes; install 20.20.2 or newer` };
}

/** Checks svc.json as a start does. With the daemon down its plugins are set up here as well, and their engines probed. */
async function configuration(cli: Cli, down: boolean): Promise<Finding[]> {
  if (!existsSync(cli.file)) return [error(`there is no ${cli.file}; run: svc init`)];
  const { checkConfiguration, describeProblem, rehearse } = kernelCode();
  const { loadEnvironment } = await import("@svc/kernel/folder");
  const options = { file: cli.file, dataFolder: cli.dataFolder, known: firstParty().map(({ folder }) => folder), env: process.env };
  try {
    const found = down ? await rehearse(options) : { ...(await checkConfiguration(options)), engines: [] };
    const { problems, plugins, value } = found;
    const broken = plugins.filter(({ id, state }) => state === "failed" && !problems.some(({ owner }) => owner === id));
    const findings = [
      ...problems.map((problem): Finding => ({ level: problem.severity, text: `${cli.file}:${describeProblem(problem)}` })),
      ...(down ? broken : []).map(({ id, reason }) => error(`plugin ${id} cannot run: ${reason}`)),
      ...unusable(found.engines),
      ...checkWorkspaces(cli.folder, value.agents),
      ...integrations(cli, value.agents, loadEnvironment(cli.folder, process.env)),
    ];
    return findings.length === 0 ? [ok(`${cli.file} is valid`)] : findings;
  } catch (failure) {
    return [error((failure as Error).message)];
  }
}

/** Undefined while the daemon of this folder does not answer. */
async function daemon(cli: Cli): Promise<Finding[] | undefined> {
  try {
    const { plugins, version } = (await cli.request("GET", "/health")) as { plugins: readonly PluginStatus[]; version: string };
    const bad = plugins.filter(({ state, failures }) => state === "failed" || state === "quarantined" || failures > 0);
    return [
      ok("the daemon answers"),
      ...(version === SDK_VERSION ? [] : [warning(`the daemon runs version ${version}, this program is ${SDK_VERSION}; run: svc daemon restart`)]),
      ...bad.map(
        ({ id, state, reason, failures }): Finding => ({
          level: state === "running" ? "warning" : "error",
          text: `plugin ${id} is ${state}: ${reason ?? `${failures} failed calls`}; see svc plugin doctor`,
        }),
      ),
    ];
  } catch (failure) {
    const { code = "", message } = failure as { code?: string; message: string };
    return NO_DAEMON.has(code) && code !== "SVC_CLI_LOST_FOLDER" ? undefined : [error(message)];
  }
}

interface Integration {
  readonly kind: string;
  readonly label: string;
  readonly enabled?: boolean;
  readonly credentials?: Readonly<Record<string, string>>;
}

/** External accounts (CFG-16): a kind is known when a plugin of that name is installed, and credentials are named by variables that must be set. */
function integrations(cli: Cli, agents: unknown, env: NodeJS.ProcessEnv): Finding[] {
  const kinds = new Set([...firstParty(), ...added(cli.file)].flatMap(({ manifest }) => [manifest.name, calledAs(manifest)]));
  const configured = Object.entries((agents ?? {}) as Record<string, { integrations?: readonly Integration[] }>);
  return configured.flatMap(([id, agent]) =>
    (agent.integrations ?? [])
      .filter(({ enabled }) => enabled !== false)
      .flatMap(({ kind, label, credentials = {} }) => {
        const where = `agent ${id}: the integration ${kind} "${label}"`;
        const unset = Object.entries(credentials).filter(([key, name]) => key.endsWith("Env") && (env[name] ?? "") === "");
        return [
          ...(kinds.has(kind) ? [] : [`${where} is used by nothing: no plugin knows the kind ${kind}`]),
          ...unset.map(([key, name]) => `${where}: ${key} names ${name}, which is not set in the environment or in .env`),
        ].map(warning);
      }),
  );
}

/** Checks the engines of all agents: two of one tier may have different providers. Equal findings are shown once. */
async function engines(cli: Cli): Promise<Finding[]> {
  try {
    const { agents } = (await cli.request("GET", "/agents")) as { agents: readonly { id: string; tier: string }[] };
    const asked = agents.map(async ({ id, tier }) => {
      const { engine } = (await cli.request("GET", `/agents/${encodeURIComponent(id)}/capability`)) as AgentAbilities;
      return { agent: id, tier, engine };
    });
    return unusable(await Promise.all(asked));
  } catch (failure) {
    return [warning((failure as Error).message)];
  }
}

/** Reports skills that exceed the limits and are hidden from agents. A daemon without procedures has none. */
async function skills(cli: Cli): Promise<Finding[]> {
  try {
    const { unread = 0, overfull = [] } = (await cli.request("GET", "/procedures")) as Unread;
    return [
      ...(unread === 0
        ? []
        : [warning(`${quantity(unread, "file of procedures is", "files of procedures are")} not read: the first 500 by name are used; move some away`)]),
      ...overfull.map((one) =>
        warning(`${quantity(one.unread, `skill of ${one.folder} is`, `skills of ${one.folder} are`)} not read: the first 200 by name are used; move some away`),
      ),
    ];
  } catch {
    return [];
  }
}

interface Unread {
  readonly unread?: number;
  readonly overfull?: readonly { readonly folder: string; readonly unread: number }[];
}

function unusable(engines: readonly { readonly agent: string; readonly tier: string; readonly engine: AgentAbilities["engine"] }[]): Finding[] {
  const reported = new Set<string>();
  return engines
    .filter(({ tier, engine: { ok: usable, detail } }) => !usable && reported.size < reported.add(`${tier} ${detail}`).size)
    .map(({ agent, tier, engine }) => warning(`the engine of agent ${agent} (tier ${tier}) is not usable: ${engine.detail}`));
}
