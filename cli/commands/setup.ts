import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { TaskResult } from "@svc/sdk";
import { type FoundEngine, findEngines, installable, offersOf } from "@svc/sdk/engine";
import { added, firstParty, productName } from "../catalog.ts";
import { changeFile, openFile, putInForce, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";
import { makeFolder } from "../make-folder.ts";
import { openQuestions, type Questions } from "../setup/questions.ts";
import { requireAgentId } from "./agent.ts";

const group: OwnGroup = {
  name: "setup",
  summary: "Find an engine for an agent, write svc.json, start the daemon and try it",
  commands: [
    {
      name: "setup",
      args: "",
      summary: "Find an engine for an agent, write svc.json, start the daemon and try it",
      options: [
        { flags: "-y, --yes", description: "take what is proposed, without questions" },
        { flags: "--agent <id>", description: "the agent to set up (default: the default agent, else assistant)" },
        { flags: "--tier <name>", description: "its engine (default: the best one found)" },
        { flags: "--model <id>", description: "its model" },
        { flags: "--no-start", description: "write svc.json only" },
      ],
      async run(_args, options, cli) {
        const person = options.yes !== true && process.stdin.isTTY === true && !cli.json;
        if (options.yes !== true && !person)
          throw fail("SVC_CLI_USAGE", { reason: "svc setup asks questions on a terminal; without one take what it proposes: svc setup --yes" });
        const questions = person ? openQuestions(process.stdin, process.stderr) : undefined;
        try {
          await setup(cli, options as unknown as SetupOptions, questions);
        } finally {
          questions?.close();
        }
      },
    },
  ],
};

export default group;

interface SetupOptions {
  readonly agent?: string;
  readonly tier?: string;
  readonly model?: string;
  readonly start: boolean;
}

/** Candidates to write, the chosen one first. */
interface Plan {
  readonly agent: string;
  readonly engines: readonly FoundEngine[];
  readonly model?: string;
}

const HELLO = "Say hello in one short sentence.";

async function setup(cli: Cli, options: SetupOptions, questions: Questions | undefined): Promise<void> {
  const { loadEnvironment } = await import("@svc/kernel/folder");
  const offers = offersOf([...firstParty(), ...added(cli.file)].map(({ manifest }) => manifest));
  const env = loadEnvironment(cli.folder, process.env);
  const found = await findEngines(env, offers);
  if (!cli.json) {
    cli.say(`Found here:\n${found.map(({ label }) => `  ${label}`).join("\n")}`);
    // List installable engines only if nothing but the built-in one was found.
    const missing = found.length === 1 ? await installable(env, offers) : [];
    if (missing.length > 0) cli.say(`Can be installed:\n${missing.map((line) => `  ${line}`).join("\n")}`);
  }

  const { agent, engines, model } = await choose(cli, found, options, questions);
  await prepare(cli, agent);
  const before = readFileSync(cli.file, "utf8");
  const failures: { readonly engine: string; readonly error: string; readonly next: string }[] = [];
  for (const [at, engine] of engines.entries()) {
    const own = at === 0 ? model : engine.models[0];
    const verdict = await write(cli, agent, engine, own);
    const settings = { file: cli.file, agent, tier: engine.tier, ...(engine.provider && { provider: engine.provider.name }), ...(own && { model: own }) };
    const words = `Agent ${agent} runs on ${productName("tier", engine.tier, cli.dataFolder)}${engine.provider ? ` with the provider ${engine.provider.name}` : ""}${own ? ` and the model ${own}` : ""}: ${cli.file}`;
    if (!cli.json) cli.say(words);
    if (!(await bringUp(cli, verdict, options, questions))) {
      cli.print("", settings);
      return;
    }
    const { ok, reply, error } = await tryOut(cli, agent);
    if (ok) {
      cli.print(`${agent}: ${reply}`, { ...settings, ok, reply, ...(failures.length === 0 ? {} : { failures }) });
      return;
    }
    failures.push({ engine: engine.label, error: error ?? "no answer", next: engine.hint });
    if (!cli.json) cli.say(`Agent ${agent} does not answer: ${error}\nNext: ${engine.hint}; then again: svc setup`);
    await takeBack(cli, before);
    const following = engines[at + 1];
    if (following === undefined || (questions !== undefined && !(await questions.agree(`Try ${following.label}?`)))) break;
  }
  const last = failures.at(-1);
  cli.print("", { file: cli.file, agent, ok: false, error: last?.error, next: last?.next, failures });
  if (!cli.json) cli.say(`No engine answers. ${cli.file} is as it was before.`);
  process.exitCode = EXIT.failed;
}

async function choose(cli: Cli, found: readonly FoundEngine[], options: SetupOptions, questions: Questions | undefined): Promise<Plan> {
  const editor = existsSync(cli.file) ? await openFile(cli) : undefined;
  const agents = (editor?.get("agents") ?? {}) as Record<string, { tier?: string; provider?: string; model?: string }>;
  const usual = (editor?.get("node.defaultAgent") as string | undefined) ?? Object.keys(agents)[0] ?? "assistant";
  const agent = options.agent ?? (await questions?.text("Which agent?", usual)) ?? usual;
  requireAgentId(agent);

  const present = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  const now = kept(present, found);
  const engines = [...now, ...found];
  const labels = engines.map(({ label }) => label);
  const at = options.tier === undefined ? ((await questions?.choose(`Which engine for ${agent}?`, labels)) ?? 0) : 0;
  const first = options.tier === undefined ? (engines[at] as FoundEngine) : byTier(options.tier, engines);
  const { models } = first;
  const model = options.model ?? models[options.model === undefined && models.length > 1 ? ((await questions?.choose("Which model?", models)) ?? 0) : 0];
  // A tier that was named is the only one; an agent that works on an engine of its operator's choice does not end on the built-in one.
  const others = options.tier !== undefined ? [] : engines.filter((engine) => engine !== first && (now.length === 0 || engine.tier !== "local"));
  return { agent, engines: [first, ...others], ...(model === undefined ? {} : { model }) };
}

/** The engine that the agent uses already is proposed first, so that accepting the default changes nothing. The built-in engine is only where one starts. */
function kept(present: { tier?: string; provider?: string; model?: string } | undefined, found: readonly FoundEngine[]): FoundEngine[] {
  if (present?.tier === undefined || present.tier === "local") return [];
  const { tier, provider, model } = present;
  const same = found.find((engine) => engine.tier === tier && (provider === undefined || engine.provider?.name === provider));
  return [
    {
      label: `what it runs on now: tier ${tier}${provider === undefined ? "" : `, provider ${provider}`}${model === undefined ? "" : `, model ${model}`}`,
      tier,
      ...(provider === undefined ? {} : { provider: { name: provider, entry: same?.provider?.entry ?? {} } }),
      models: model === undefined ? [] : [model],
      hint: same?.hint ?? "run: svc doctor",
    },
  ];
}

/** Returns the named tier: as it was found, or on the findings for `sdk`, which `orchestrator` uses the same way. */
function byTier(tier: string, engines: readonly FoundEngine[]): FoundEngine {
  const same = engines.find((engine) => engine.tier === tier) ?? (tier === "orchestrator" ? engines.find((engine) => engine.tier === "sdk") : undefined);
  return { models: [], hint: "run: svc doctor", ...same, label: tier, tier };
}

/** Creates the configuration if it is missing; a failed setup is rolled back to it. */
async function prepare(cli: Cli, agent: string): Promise<void> {
  if (existsSync(cli.file)) return;
  const { writeFirst } = await import("./init.js");
  await writeFirst(cli, "local", agent);
}

/** Writes the choice in place. A choice that the checks or the daemon refuse is not written. */
async function write(cli: Cli, agent: string, { tier, provider, settings = {} }: FoundEngine, model: string | undefined): Promise<Verdict> {
  const at = `agents.${agent}`;
  const changed = await changeFile(cli, (editor) => {
    if (editor.get(at) === undefined) {
      const workspace = `./workspaces/${agent}`;
      editor.set(at, JSON.stringify({ name: agent, workspace, tier }));
      makeFolder(resolve(cli.folder, workspace));
    } else editor.set(`${at}.tier`, tier);
    if (provider !== undefined && editor.get(`providers.${provider.name}`) === undefined)
      editor.set(`providers.${provider.name}`, JSON.stringify(provider.entry));
    for (const [key, value] of Object.entries({ provider: provider?.name, model, ...settings })) {
      if (value === undefined) editor.remove(`${at}.${key}`);
      else editor.set(`${at}.${key}`, typeof value === "string" ? value : JSON.stringify(value));
    }
  });
  return putInForce(cli, changed);
}

/** A choice that does not answer is not left behind. */
async function takeBack(cli: Cli, before: string): Promise<void> {
  await (await openFile(cli)).restore(before);
  // The next choice, or the next start, is in force whatever the daemon says to this.
  await cli.request("POST", "/reload").catch(() => undefined);
}

/** Starts the daemon, or restarts it where the change waits for that. False when it is not up on the new settings, which is said. */
async function bringUp(cli: Cli, verdict: Verdict, { start }: SetupOptions, questions: Questions | undefined): Promise<boolean> {
  const later = () => {
    if (!cli.json) cli.say("Next: svc daemon start");
    return false;
  };
  if (!start) return verdict.running ? false : later();
  const agreed = async (question: string) => questions === undefined || (await questions.agree(question));
  if (!verdict.running) {
    if (!(await agreed("The daemon is not running. Start it?"))) return later();
    const { launch } = await import("../daemon/detach.js");
    return (await launch(cli, [])) !== undefined;
  }
  if (verdict.restartRequired.length === 0 || !(await agreed(`${verdict.restartRequired.join(", ")} waits for a restart of the daemon. Restart it?`)))
    return true;
  const { restart } = await import("../daemon/restart.js");
  const answer = await restart(cli, { by: "svc setup" });
  if ("pid" in answer) return true;
  cli.say(`The restart is held until ${new Date(answer.at).toLocaleString()}; the agent is as written here from then on.`);
  return false;
}

/** Time limit of an engine's hello; there may be another one to try. */
const TRY_MINUTES = 2;

async function tryOut(cli: Cli, agent: string): Promise<Pick<TaskResult, "ok" | "reply" | "error">> {
  const body = { agent, message: HELLO, freshSession: true, timeoutMinutes: TRY_MINUTES, context: { channel: "cli", chatId: "setup" } };
  if (!cli.json) cli.say(`> ${HELLO}`);
  try {
    const { ok, reply, error, status } = (await cli.request("POST", "/task", body)) as TaskResult;
    return { ok, reply, error: error ?? status };
  } catch (error) {
    return { ok: false, reply: "", error: (error as Error).message };
  }
}
