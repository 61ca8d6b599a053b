import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { AgentCapability, PluginStatus } from "@svc/kernel";
import { firstParty, installed } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { NO_DAEMON } from "../exit.ts";
import type { OwnGroup } from "../group.ts";

interface Finding {
  readonly level: "ok" | "warning" | "error";
  readonly text: string;
}

const group: OwnGroup = {
  name: "doctor",
  summary: "Look for what is wrong and say what to do about it",
  commands: [{ name: "doctor", args: "", summary: "Look for what is wrong and say what to do about it", run: (_args, _options, cli) => doctor(cli) }],
};

export default group;

async function doctor(cli: Cli): Promise<void> {
  const findings = [node(), ...folder(cli), ...(await configuration(cli)), ...(await daemon(cli)), ...(await engines(cli))];
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

function folder(cli: Cli): Finding[] {
  if (!existsSync(cli.dataFolder)) return [];
  const findings: Finding[] = [];
  if ((statSync(cli.dataFolder).mode & 0o077) !== 0)
    findings.push({ level: "warning", text: `${cli.dataFolder} is readable by others; run: chmod 700 ${cli.dataFolder}` });
  try {
    accessSync(cli.dataFolder, constants.W_OK);
  } catch {
    findings.push({ level: "error", text: `${cli.dataFolder} cannot be written to by this user` });
  }
  return findings;
}

async function configuration(cli: Cli): Promise<Finding[]> {
  if (!existsSync(cli.file)) return [{ level: "error", text: `there is no ${cli.file}; run: svc init` }];
  const { checkConfiguration, describeProblem, loadEnvironment } = await import("@svc/kernel");
  try {
    const { problems, value } = await checkConfiguration({
      file: cli.file,
      dataFolder: cli.dataFolder,
      known: firstParty().map(({ folder }) => folder),
      env: process.env,
    });
    const findings = problems.map(
      (problem): Finding => ({ level: problem.severity === "error" ? "error" : "warning", text: `${cli.file}:${describeProblem(problem)}` }),
    );
    const workspaces = Object.entries((value.agents ?? {}) as Record<string, { workspace?: string }>);
    for (const [id, agent] of workspaces) {
      const path = agent.workspace === undefined ? undefined : new URL(agent.workspace, `file://${dirname(cli.file)}/`).pathname;
      if (path !== undefined && !existsSync(path)) findings.push({ level: "warning", text: `agent ${id}: the workspace ${path} does not exist` });
    }
    findings.push(...integrations(cli, value.agents, loadEnvironment(cli.folder, process.env)));
    return findings.length === 0 ? [{ level: "ok", text: `${cli.file} is valid` }] : findings;
  } catch (error) {
    return [{ level: "error", text: (error as Error).message }];
  }
}

async function daemon(cli: Cli): Promise<Finding[]> {
  try {
    const { plugins } = (await cli.request("GET", "/health")) as { plugins: readonly PluginStatus[] };
    const bad = plugins.filter(({ state, failures }) => state === "failed" || state === "quarantined" || failures > 0);
    return [
      { level: "ok", text: "the daemon answers" },
      ...bad.map(
        ({ id, state, reason, failures }): Finding => ({
          level: state === "running" ? "warning" : "error",
          text: `plugin ${id} is ${state}: ${reason ?? `${failures} failed calls`}`,
        }),
      ),
    ];
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return [{ level: code === "SVC_CLI_NO_DAEMON" ? "warning" : "error", text: message }];
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
  const kinds = new Set([...firstParty(), ...installed(cli.dataFolder)].map(({ manifest }) => manifest.name));
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
        ].map((text): Finding => ({ level: "warning", text }));
      }),
  );
}

/** The engines of the tiers in use, each asked once. */
async function engines(cli: Cli): Promise<Finding[]> {
  try {
    const { agents } = (await cli.request("GET", "/agents")) as { agents: readonly { id: string; tier: string }[] };
    const first = new Map(agents.map(({ id, tier }) => [tier, id]).reverse() as [string, string][]);
    const asked = [...first].map(async ([tier, id]): Promise<Finding[]> => {
      const { engine } = (await cli.request("GET", `/agents/${encodeURIComponent(id)}/capability`)) as AgentCapability;
      return engine.ok ? [] : [{ level: "warning", text: `the engine of tier ${tier} is not usable: ${engine.detail}` }];
    });
    return (await Promise.all(asked)).flat();
  } catch (error) {
    if (NO_DAEMON.has((error as { code?: string }).code ?? "")) return [];
    return [{ level: "warning", text: (error as Error).message }];
  }
}
