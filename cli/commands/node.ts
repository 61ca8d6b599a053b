import type { StoreNode } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "node",
  summary: "The daemons that use the same store: which there are, and asking one to end",
  commands: [
    {
      name: "list",
      args: "",
      summary: "The daemons on the store of this folder, the latest first, and when each beat last",
      options: [{ flags: "--all", description: "those that have ended in the last day, too" }],
      run: (_args, { all }, cli) => list(cli, all === true),
    },
    {
      name: "drain",
      args: "<name>",
      summary: "Ask the daemon with that node.id to finish what runs, hand on what it holds, and end; from any machine with this configuration",
      options: [{ flags: "--undo", description: "take the wish back, where the daemon has not heard of it yet" }],
      run: ([name], { undo }, cli) => drain(cli, name as string, undo !== true),
    },
  ],
};

export default group;

async function list(cli: Cli, all: boolean): Promise<void> {
  const { nodesTable } = await import("../state/store-status.js");
  const nodes = (await known(cli)).filter(({ state }) => all || state !== "dead");
  cli.print(nodes.length === 0 ? "No daemon is running. Start this folder's with: svc daemon start" : nodesTable(nodes), { nodes });
}

/** As the store has them, also while no daemon of this folder runs; a store that one daemon uses alone knows no others. */
async function known(cli: Cli): Promise<readonly StoreNode[]> {
  const [{ storeFor }, { lockHolder }] = await Promise.all([import("../store.js"), import("@svc/kernel/folder")]);
  const store = await storeFor(cli);
  if (store.nodes !== undefined) return store.nodes({ folder: cli.dataFolder });
  if (lockHolder(cli.dataFolder) === undefined) return [];
  return ((await cli.request("GET", "/nodes")) as { nodes: readonly StoreNode[] }).nodes;
}

async function drain(cli: Cli, name: string, on: boolean): Promise<void> {
  const { storeFor } = await import("../store.js");
  const store = await storeFor(cli);
  if (store.drain === undefined)
    throw fail("SVC_CLI_USAGE", { reason: `one daemon alone uses the store ${store.name}, the one of this folder; end it with: svc daemon stop` });
  const found = await store.drain({ folder: cli.dataFolder, node: name, on });
  if (!found) throw fail("SVC_CLI_MISSING", { what: `living daemon with node.id '${name}' on this store`, next: "svc node list" });
  const words = on
    ? `${name} hears of it within 2 s, takes nothing more, finishes what runs as long as shutdown.drainTimeoutSeconds allows, and ends with exit code 0.\nLook with: svc node list`
    : `${name} is no longer asked to end.`;
  cli.print(words, { ok: true, node: name, draining: on });
}
