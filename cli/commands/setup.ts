import { existsSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import type { TaskResult } from "@svc/sdk";
import { firstParty, installed } from "../catalog.ts";
import { applyChange, openFile, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";
import { type FoundEngine, findEngines } from "../setup/engines.ts";
import { openQuestions, type Questions } from "../setup/questions.ts";

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

/** What is to be written. */
interface Choice {
  readonly agent: string;
  readonly engine: FoundEngine;
  readonly model?: string;
}

const HELLO = "Say hello in one short sentence.";

async function setup(cli: Cli, options: SetupOptions, questions: Questions | undefined): Promise<void> {
  const { loadEnvironment } = await import("@svc/kernel");
  const tiers = new Set([...firstParty(), ...installed(cli.dataFolder)].flatMap(({ manifest }) => (manifest.kind === "tier" ? [manifest.name] : [])));
  const found = await findEngines(loadEnvironment(cli.folder, process.env), tiers);
  if (!cli.json) cli.say(`Found here:\n${found.map(({ label }) => `  ${label}`).join("\n")}`);

  const choice = await choose(cli, found, options, questions);
  const { agent, engine, model } = choice;
  const verdict = await write(cli, choice);
  const settings = { file: cli.file, agent, tier: engine.tier, ...(engine.provider && { provider: engine.provider.name }), ...(model && { model }) };
  const words = `Agent ${agent} runs on tier ${engine.tier}${engine.provider ? ` with the provider ${engine.provider.name}` : ""}${model ? ` and the model ${model}` : ""}: ${cli.file}`;
  if (!cli.json) cli.say(words);

  if (!(await bringUp(cli, verdict, options, questions))) {
    cli.print("", settings);
    return;
  }
  const { ok, reply, error } = await tryOut(cli, agent);
  cli.print(ok ? `${agent}: ${reply}` : "", { ...settings, ok, ...(ok ? { reply } : { error, next: engine.hint }) });
  if (ok) return;
  cli.say(`Agent ${agent} does not answer: ${error}\nNext: ${engine.hint}; then again: svc setup`);
  process.exitCode = EXIT.failed;
}

async function choose(cli: Cli, found: readonly FoundEngine[], options: SetupOptions, questions: Questions | undefined): Promise<Choice> {
  const editor = existsSync(cli.file) ? await openFile(cli) : undefined;
  const agents = (editor?.get("agents") ?? {}) as Record<string, { tier?: string; provider?: string; model?: string }>;
  const usual = (editor?.get("node.defaultAgent") as string | undefined) ?? Object.keys(agents)[0] ?? "assistant";
  const agent = options.agent ?? (await questions?.text("Which agent?", usual)) ?? usual;
  if (!/^[a-z0-9][a-z0-9_-]*$/.test(agent)) throw fail("SVC_CLI_USAGE", { reason: `'${agent}' is no agent id: lower-case letters, digits, '_' and '-'` });

  const present = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  const engines = [...kept(present, found), ...found];
  const engine =
    options.tier === undefined
      ? (engines[
          (await questions?.choose(
            `Which engine for ${agent}?`,
            engines.map(({ label }) => label),
          )) ?? 0
        ] as FoundEngine)
      : byTier(options.tier, engines);
  const { models } = engine;
  const at = options.model === undefined && models.length > 1 ? ((await questions?.choose("Which model?", models)) ?? 0) : 0;
  const model = options.model ?? models[at];
  return { agent, engine, ...(model === undefined ? {} : { model }) };
}

/** What an agent runs on already is proposed first: nobody's choice is changed unasked. The built-in engine is only where one starts. */
function kept(present: { tier?: string; provider?: string; model?: string } | undefined, found: readonly FoundEngine[]): FoundEngine[] {
  if (present === undefined || present.tier === "local") return [];
  const { tier = "cli-a", provider, model } = present;
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

/** A tier that was named: as it was found, or on what was found for `sdk`, which `orchestrator` uses the same way. */
function byTier(tier: string, engines: readonly FoundEngine[]): FoundEngine {
  const same = engines.find((engine) => engine.tier === tier) ?? (tier === "orchestrator" ? engines.find((engine) => engine.tier === "sdk") : undefined);
  return { models: [], hint: "run: svc doctor", ...same, label: tier, tier };
}

/** Writes the choice in place. What the checks or the daemon refuse is not written. */
async function write(cli: Cli, { agent, engine, model }: Choice): Promise<Verdict> {
  if (!existsSync(cli.file)) {
    const { writeFirst } = await import("./init.js");
    await writeFirst(cli, "local", agent);
  }
  const editor = await openFile(cli);
  const at = `agents.${agent}`;
  if (editor.get(at) === undefined) {
    const workspace = `./workspaces/${agent}`;
    editor.set(at, JSON.stringify({ name: agent, workspace, tier: engine.tier }));
    mkdirSync(resolve(cli.folder, workspace), { recursive: true });
  } else editor.set(`${at}.tier`, engine.tier);
  const { provider } = engine;
  if (provider !== undefined && editor.get(`providers.${provider.name}`) === undefined)
    editor.set(`providers.${provider.name}`, JSON.stringify(provider.entry));
  for (const [key, value] of Object.entries({ provider: provider?.name, model })) {
    if (value === undefined) editor.remove(`${at}.${key}`);
    else editor.set(`${at}.${key}`, value);
  }
  return applyChange(cli, editor);
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

async function tryOut(cli: Cli, agent: string): Promise<Pick<TaskResult, "ok" | "reply" | "error">> {
  const body = { agent, message: HELLO, freshSession: true, timeoutMinutes: 5, context: { channel: "cli", chatId: "setup" } };
  if (!cli.json) cli.say(`> ${HELLO}`);
  try {
    const { ok, reply, error, status } = (await cli.request("POST", "/task", body)) as TaskResult;
    return { ok, reply, error: error ?? status };
  } catch (error) {
    return { ok: false, reply: "", error: (error as Error).message };
  }
}
