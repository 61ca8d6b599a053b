import { type CliHost, type CommandGroup, codeOf, svcError } from "@svc/sdk";

interface Listed {
  readonly name: string;
  readonly url: string;
  readonly state?: string;
  readonly reason?: string;
  readonly agents?: readonly string[];
}

const group: CommandGroup = {
  name: "mesh",
  summary: "Other daemons: list, add, remove and test them; announce something to all",
  commands: [
    { name: "list", args: "", summary: "The peers, and how they are", run: (_args, _options, cli) => list(cli) },
    {
      name: "add",
      args: "<name> <url>",
      summary: "Add a peer: its node id and the address of its daemon",
      options: [{ flags: "--token-env <NAME>", description: "the environment variable with the token that both hold", required: true }],
      run: ([name = "", url = ""], { tokenEnv }, cli) => add(name, url, String(tokenEnv), cli),
    },
    { name: "remove", args: "<name>", summary: "Remove a peer", run: ([name = ""], _options, cli) => remove(name, cli) },
    {
      name: "test",
      args: "<name>",
      summary: "Ask a peer how it is and which agents it has; 1 where it cannot be used",
      run: ([name = ""], _options, cli) => test(name, cli),
    },
    {
      name: "announce",
      args: "<text>",
      summary: "Tell something to everyone who follows this daemon; at most 2,000 characters",
      options: [{ flags: "--by <name>", description: "who says it: an agent, or a name that is put in front" }],
      run: ([text = ""], { by }, cli) => announce(text, by as string | undefined, cli),
    },
  ],
};
export default group;

async function peersInFile(cli: CliHost): Promise<readonly Listed[]> {
  const { mesh } = (await cli.readSettings()).document as { mesh?: { peers?: readonly Listed[] } };
  return mesh?.peers ?? [];
}

async function list(cli: CliHost): Promise<void> {
  const running = await cli.request("GET", "/mesh/peers").catch((error) => {
    // Without a daemon, and with one whose mesh is off, there is what the file says.
    if (codeOf(error) === "SVC_CLI_NO_DAEMON" || (error as { status?: number }).status === 404) return undefined;
    throw error;
  });
  const answer = running as { peers?: readonly Listed[]; found?: readonly Listed[] } | undefined;
  const peers: readonly Listed[] = answer?.peers ?? (await peersInFile(cli)).map(({ name, url }) => ({ name, url }));
  const found = (answer?.found ?? []).map((one) => ({ ...one, state: "found", ...nextStep(one, peers) }));
  const rows = peers.map(({ name, url, state, reason }) =>
    [name, url, state ?? "the daemon does not run, or the mesh is off", reason].filter(Boolean).join("  "),
  );
  if (rows.length === 0) rows.push("There is no peer; add one with: svc mesh add <name> <url> --token-env <NAME>");
  if (found.length > 0) rows.push("", "Found on the network, by what they say of themselves; they are no peers, and nothing is sent to them:");
  for (const { name, url, add, note } of found) rows.push(`${name}  ${url}  found  ${add === undefined ? note : `add it with: ${add}`}`);
  cli.print(rows.join("\n"), [...peers, ...found]);
}

/** Returns the command with which a person adds a discovered daemon as a peer. */
function nextStep({ name, url }: Listed, peers: readonly Listed[]): { readonly add?: string; readonly note?: string } {
  if (peers.some((peer) => peer.name === name)) return { note: `calls itself by the name of the peer ${name}, at another address than that one's` };
  const variable = `${name.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_MESH_TOKEN`;
  return { add: `svc mesh add ${name} ${url} --token-env ${/^[0-9]/.test(variable) ? `_${variable}` : variable}` };
}

async function add(name: string, url: string, tokenEnv: string, cli: CliHost): Promise<void> {
  if (!/^https?:\/\/[^/\s]+/.test(url)) throw usage(`'${url}' is no address of a daemon: it looks like http://192.0.2.10:18800`);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(tokenEnv))
    throw usage(`'${tokenEnv}' is no name of an environment variable; the token itself does not stand in svc.json`);
  const known = await peersInFile(cli);
  if (known.some((peer) => peer.name === name)) throw usage(`there is a peer '${name}' already; remove it first`);
  const peer = { name, url, token: `\${${tokenEnv}}` };
  // Tokens of the other peers stay as written: the values read are masked.
  const report = await cli.change([
    { path: ["mesh", "enabled"], value: true },
    known.length === 0 ? { path: ["mesh", "peers"], value: [peer], reference: true } : { path: ["mesh", "peers", known.length], value: peer, reference: true },
  ]);
  cli.print(`${name} is a peer now. Put the token that both hold into ${tokenEnv} here and there, then: svc mesh test ${name}`, { added: name, ...report });
}

async function remove(name: string, cli: CliHost): Promise<void> {
  const known = await peersInFile(cli);
  const at = known.findIndex((peer) => peer.name === name);
  if (at === -1) throw svcError("SVC_MESH_PEER", `There is no peer '${name}'; see svc mesh list.`);
  const report = await cli.change([{ path: ["mesh", "peers", at] }]);
  cli.print(`${name} is no peer any more.`, { removed: name, ...report });
}

async function test(name: string, cli: CliHost): Promise<void> {
  const { state, reason, agents = [] } = (await cli.request("POST", `/mesh/peers/${encodeURIComponent(name)}/test`, {})) as Listed;
  if (state !== "up") throw svcError("SVC_MESH_PEER_DOWN", `${name} cannot be used: ${(reason ?? state ?? "unknown").replace(/\.$/, "")}.`);
  cli.print(`${name} is up. Its agents: ${agents.join(", ") || "none"}`, { name, state, agents });
}

async function announce(text: string, by: string | undefined, cli: CliHost): Promise<void> {
  const { id } = (await cli.request("POST", "/mesh/announce", { text, ...(by === undefined ? {} : { by }) })) as { id: string };
  cli.print("Announced.", { id });
}

const usage = (message: string) => Object.assign(new Error(message), { code: "SVC_CLI_USAGE" });
