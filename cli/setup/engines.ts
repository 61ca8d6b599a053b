import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** A way to run an agent that was found on this machine. */
export interface FoundEngine {
  /** For people; holds no secret. */
  readonly label: string;
  readonly tier: string;
  /** The entry of `providers` it needs, and what to write there when there is none. */
  readonly provider?: { readonly name: string; readonly entry: Readonly<Record<string, string>> };
  /** Further settings of the agent, such as who pays. */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  /** Models to choose from, the proposed one first. Empty: the engine chooses. */
  readonly models: readonly string[];
  /** What to look at when it does not answer. */
  readonly hint: string;
}

/** Programs with a sign-in of their own, by tier, the preferred one first. */
const PROGRAMS = [
  { tier: "cli-a", program: "claude", name: "Claude Code", key: "ANTHROPIC_API_KEY", hint: "run claude once in a terminal and sign in" },
  { tier: "cli-b", program: "codex", name: "Codex", key: "OPENAI_API_KEY", hint: "sign in with: codex login" },
  { tier: "cli-c", program: "gemini", name: "Gemini CLI", key: "GEMINI_API_KEY", hint: "run gemini once in a terminal and sign in" },
] as const;

const KEYS = [
  { provider: "anthropic", variable: "ANTHROPIC_API_KEY", name: "Anthropic API", models: [], entry: {} },
  { provider: "openai", variable: "OPENAI_API_KEY", name: "OpenAI API", models: ["gpt-4.1-mini"], entry: {} },
  {
    provider: "gemini",
    variable: "GEMINI_API_KEY",
    name: "Gemini API",
    models: ["gemini-2.5-flash"],
    entry: { endpoint: "https://generativelanguage.googleapis.com/v1beta/openai" },
  },
] as const;

/** Model servers that listen on this machine, at the addresses they have by default. */
const SERVERS = [
  { provider: "ollama", name: "Ollama", port: 11434, path: "/api/tags", hint: "see what is there with: ollama list" },
  { provider: "lmstudio", name: "LM Studio", port: 1234, path: "/v1/models", hint: "load a model in LM Studio" },
  { provider: "llamacpp", name: "llama.cpp", port: 8080, path: "/v1/models", hint: "look at what llama-server prints" },
] as const;

/** How long a server on this machine may take to list its models, in milliseconds. */
const LOOK_MS = 1_500;

/** The engine that works everywhere and is no language model. */
const BUILT_IN: FoundEngine = {
  label: "the built-in tier local: searches the workspace, is no language model",
  tier: "local",
  models: [],
  hint: "run: svc doctor",
};

/**
 * What can run agents here, best first, the built-in engine last: programs on PATH, then API keys in `env`, then model servers on
 * loopback. `tiers` are those whose plugin is installed. Nothing outside of this machine is asked.
 */
export async function findEngines(env: NodeJS.ProcessEnv, tiers: ReadonlySet<string>): Promise<readonly FoundEngine[]> {
  const programs = findPrograms(env, tiers);
  if (!tiers.has("sdk")) return [...programs, BUILT_IN];
  const keys = KEYS.filter(({ variable }) => (env[variable] ?? "") !== "").map(
    ({ provider, variable, name, models, entry }): FoundEngine => ({
      label: `${name} (${variable} is set)`,
      tier: "sdk",
      provider: { name: provider, entry: { apiKey: `\${${variable}}`, ...entry } },
      models,
      hint: `check that ${variable} is valid; a daemon that a supervisor starts finds it in .env beside svc.json`,
    }),
  );
  const servers = await Promise.all(SERVERS.map((server) => askServer(server, env)));
  return [...programs, ...keys, ...servers.flat(), BUILT_IN];
}

/** The programs on PATH whose plugin is installed: on their own sign-in first, then on a key that is set. */
export function findPrograms(env: NodeJS.ProcessEnv, tiers: ReadonlySet<string>): FoundEngine[] {
  const there = PROGRAMS.flatMap((known) => {
    const file = tiers.has(known.tier) ? onPath(known.program, env.PATH ?? "") : undefined;
    return file === undefined ? [] : [{ ...known, file }];
  });
  const signedIn = there.map(
    ({ tier, name, file, hint }): FoundEngine => ({ label: `${name} (tier ${tier}; ${file})`, tier, models: [], hint, settings: { billing: undefined } }),
  );
  const paid = there
    .filter(({ key }) => (env[key] ?? "") !== "")
    .map(
      ({ tier, name, key }): FoundEngine => ({
        label: `${name} (tier ${tier}), paid by ${key}`,
        tier,
        models: [],
        hint: `check that ${key} is valid; a daemon that a supervisor starts finds it in .env beside svc.json`,
        settings: { billing: "api" },
      }),
    );
  return [...signedIn, ...paid];
}

function onPath(program: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return statSync(file).isFile();
      } catch {
        return false;
      }
    });
}

async function askServer({ provider, name, port, path, hint }: (typeof SERVERS)[number], env: NodeJS.ProcessEnv): Promise<FoundEngine[]> {
  const own = provider === "ollama" ? ollamaPort(env) : port;
  const address = `http://127.0.0.1:${own}`;
  const models = await listModels(`${address}${path}`);
  if (models.length === 0) return [];
  const entry: Record<string, string> = own === port ? {} : { endpoint: address };
  return [{ label: `${name} on 127.0.0.1:${own} (${models.length} models)`, tier: "sdk", provider: { name: provider, entry }, models, hint }];
}

/** Ollama's own variable for where it listens, where that is this machine. */
function ollamaPort({ OLLAMA_HOST = "" }: NodeJS.ProcessEnv): number {
  const [, port] = /^(?:http:\/\/)?(?:127\.0\.0\.1|localhost|0\.0\.0\.0)?:(\d{1,5})\/?$/.exec(OLLAMA_HOST.trim()) ?? [];
  return port === undefined ? 11434 : Number(port);
}

/** Empty when no model server listens there. Models that only embed cannot answer. */
async function listModels(url: string): Promise<string[]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LOOK_MS), redirect: "error" });
    const { models, data } = (await response.json()) as { models?: readonly { name?: unknown }[]; data?: readonly { id?: unknown }[] };
    const names = [...(models ?? []).map(({ name }) => name), ...(models === undefined ? (data ?? []).map(({ id }) => id) : [])];
    return names.filter((name): name is string => typeof name === "string" && name !== "" && !/embed/i.test(name));
  } catch {
    return [];
  }
}
