import { existsSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { added, firstParty, productName } from "../catalog.ts";
import { type Cli, DEFAULT_BIND } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { makeFolder } from "../make-folder.ts";
import { SCHEMA_REFERENCE, writeSchema } from "../schema-file.ts";

const INSTRUCTIONS = `# Assistant

You are a helpful assistant. Answer briefly, and say so when you do not know.

Files in this folder are your knowledge: notes, documents, lists. Put what you should know beside this file.
`;

const group: OwnGroup = {
  name: "init",
  summary: "Write a first svc.json and a workspace",
  commands: [
    {
      name: "init",
      args: "",
      summary: "Write a first svc.json and a workspace",
      options: [{ flags: "--tier <name>", description: "the engine of the first agent (default: the first one found on this machine)" }],
      async run(_args, options, cli) {
        if (existsSync(cli.file)) throw fail("SVC_CLI_EXISTS", { what: cli.file, next: "change it with: svc config set <path> <value>" });
        const tier = options.tier === undefined ? await bestTier() : knownTier(String(options.tier), cli);
        const bind = await writeFirst(cli, tier);
        const port = bind === DEFAULT_BIND ? "" : `\nPort 18800 is in use, so this daemon will listen on ${bind}.`;
        cli.print(`Wrote ${cli.file} with the agent "assistant" on tier ${productName("tier", tier, cli.dataFolder)}.${port}\nNext: svc daemon start`, {
          file: cli.file,
          agent: "assistant",
          tier,
          bind,
        });
      },
    },
  ],
};

export default group;

/** Refuses an engine that no plugin here brings. */
function knownTier(tier: string, cli: Cli): string {
  const tiers = [...firstParty(), ...added(cli.file)].flatMap(({ manifest }) => (manifest.kind === "tier" ? [manifest.name] : []));
  if (tiers.includes(tier)) return tier;
  throw fail("SVC_CLI_USAGE", { reason: `There is no tier '${tier}'; there are ${tiers.join(", ")}. Nothing was written.` });
}

/** The first command-line engine on PATH whose plugin is here; else the one that needs nothing. */
export async function bestTier(): Promise<string> {
  const { findPrograms, offersOf } = await import("@svc/sdk/engine");
  // Only a tier is written: an engine that needs further settings is for svc setup.
  const offers = offersOf(firstParty().map(({ manifest }) => manifest)).filter(({ offer }) => offer.settings === undefined);
  return (await findPrograms(process.env, offers))[0]?.tier ?? "local";
}

/** A node named after this machine and one agent with a short instructions file, and the schema for editors. Answers where the daemon will listen: the default, else the next free port. */
export async function writeFirst(cli: Cli, tier: string, agent = "assistant"): Promise<string> {
  const id =
    hostname()
      .split(".")[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9-]+/g, "-")
      .replace(/^-+|-+$/g, "") || "node";
  const workspace = join(cli.folder, "workspace");
  makeFolder(workspace);
  if (!existsSync(join(workspace, "AGENTS.md"))) writeFileSync(join(workspace, "AGENTS.md"), INSTRUCTIONS);
  const bind = await freeBind();
  const config = {
    $schema: SCHEMA_REFERENCE,
    node: { id, name: id, ...(bind === DEFAULT_BIND ? {} : { bind }), defaultAgent: agent },
    agents: { [agent]: { name: agent === "assistant" ? "Assistant" : agent, workspace: "./workspace", tier } },
  };
  writeFileSync(cli.file, `${JSON.stringify(config, null, 2)}\n`, { flag: "wx", mode: 0o600 });
  await writeSchema(cli);
  return bind;
}

async function freeBind(): Promise<string> {
  const { freePort } = await import("../whose.js");
  const at = DEFAULT_BIND.lastIndexOf(":");
  const host = DEFAULT_BIND.slice(0, at);
  return `${host}:${await freePort({ host, port: Number(DEFAULT_BIND.slice(at + 1)) })}`;
}
