import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { added, firstParty, productName } from "../catalog.ts";
import { type Cli, DEFAULT_BIND } from "../cli.ts";
import { whyNoRoom } from "../disk-room.ts";
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
        if (existsSync(cli.file)) throw taken(cli);
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

const taken = ({ file }: Cli) => fail("SVC_CLI_EXISTS", { what: file, next: "change it with: svc config set <path> <value>" });

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
  const bind = await freeBind();
  const config = {
    $schema: SCHEMA_REFERENCE,
    node: { id, name: id, ...(bind === DEFAULT_BIND ? {} : { bind }), defaultAgent: agent },
    agents: { [agent]: { name: agent === "assistant" ? "Assistant" : agent, workspace: "./workspace", tier } },
  };
  try {
    await writeAll(cli, `${JSON.stringify(config, null, 2)}\n`);
  } catch (error) {
    const full = whyNoRoom(cli.folder);
    throw full === undefined ? error : fail("SVC_CLI_FILE", { file: cli.file, reason: full, next: "then repeat it" });
  }
  return bind;
}

/** Far more than a first configuration has. */
const LARGEST = 65_536;

/** Each file as a whole, and svc.json last: where the disk is full the next try finds nothing that is begun. Of root, they belong to whom the folder does. */
async function writeAll(cli: Cli, config: string): Promise<void> {
  const { createFolder } = await import("@svc/kernel/folder");
  const workspace = join(cli.folder, "workspace");
  makeFolder(workspace);
  if (!existsSync(join(workspace, "AGENTS.md"))) await createFolder(workspace).write("AGENTS.md", INSTRUCTIONS);
  makeFolder(cli.dataFolder, 0o700);
  await writeSchema(cli);
  await createFolder(cli.folder).change(basename(cli.file), LARGEST, (there) => {
    if (there !== undefined) throw taken(cli);
    return config;
  });
}

async function freeBind(): Promise<string> {
  const { freePort } = await import("../whose.js");
  const at = DEFAULT_BIND.lastIndexOf(":");
  const host = DEFAULT_BIND.slice(0, at);
  return `${host}:${await freePort({ host, port: Number(DEFAULT_BIND.slice(at + 1)) })}`;
}
