import type { CliHost, CommandGroup } from "@svc/sdk";
import { revokeToken } from "./admin-routes.ts";
import { parseName, parseScopes } from "./scopes.ts";
import { LONGEST_DAYS, makeToken, shown } from "./token.ts";
import { openTokenFile } from "./token-file.ts";

const group: CommandGroup = {
  name: "token",
  summary: "Make, list and revoke access tokens",
  commands: [
    {
      name: "create",
      args: "",
      summary: "Make a token and print its secret: the only time that anyone sees it",
      options: [
        { flags: "--name <text>", description: "what it is for, to find it again", required: true },
        { flags: "--scope <scope...>", description: "what it may do, such as dashboard:read or agent:<id>; a wrong one lists them all", required: true },
        { flags: "--expires <days>", description: "whole days from now, at least 1 (default: never)", number: { least: 1, most: LONGEST_DAYS } },
      ],
      run: (_args, options, cli) => create(options, cli),
    },
    { name: "list", args: "", summary: "All tokens, revoked ones too, without their secrets", run: (_args, _options, cli) => list(cli) },
    { name: "revoke", args: "<id>", summary: "Refuse a token from now on", run: ([id = ""], _options, cli) => revoke(id, cli) },
  ],
};
export default group;

async function create({ name, scope, expires }: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  const { token, secret } = makeToken(parseName(name), parseScopes([scope].flat().map(String), await cli.scopes()), expires as number | undefined, Date.now());
  const damaged = await openTokenFile(await cli.data()).change((tokens) => [...tokens, token]);
  if (damaged !== undefined) say(`tokens.json was damaged and is now ${damaged}: all earlier tokens are refused.`);
  say(
    `Token ${token.id} (${token.name}) may: ${token.scope.join(", ")}. ${token.expiresAt === undefined ? "It never expires." : `It expires ${token.expiresAt}.`}`,
  );
  say("Its secret follows. It is shown this once and cannot be recovered.");
  for (const warning of await opensNothing(token.scope, cli)) say(warning);
  cli.print(secret, { ...shown(token), secret });
}

/** Scopes of agents that are not there, or that no token reaches; as far as a daemon that runs can say. */
async function opensNothing(scopes: readonly string[], cli: CliHost): Promise<string[]> {
  const ids = scopes.filter((scope) => scope.startsWith("agent:")).map((scope) => scope.slice("agent:".length));
  if (ids.length === 0) return [];
  const answer = await cli.request("GET", "/agents").catch(() => undefined);
  if (answer === undefined) return [];
  const { agents } = answer as { agents: readonly { id: string; access?: string }[] };
  const open = (id: string) => agents.find((agent) => agent.id === id)?.access === "public";
  return ids.flatMap((id) => {
    if (id === "*") return agents.some((agent) => open(agent.id)) ? [] : ["Note: no agent is public, so agent:* opens nothing yet."];
    if (!agents.some((agent) => agent.id === id)) return [`Note: there is no agent '${id}', so agent:${id} opens nothing; see svc agent list.`];
    return open(id) ? [] : [`Note: ${id} is private, so agent:${id} opens nothing until: svc config set agents.${id}.access public`];
  });
}

async function list(cli: CliHost): Promise<void> {
  const tokens = openTokenFile(await cli.data())
    .read()
    .map(shown);
  const rows = tokens.map(({ id, status, prefix, scope, name, lastUsedAt, expiresAt }) =>
    [id, status.padEnd(7), `${prefix}...`, scope.join(","), name, `used ${lastUsedAt ?? "never"}`, `expires ${expiresAt ?? "never"}`].join("  "),
  );
  cli.print(rows.join("\n") || "There are no tokens; make one with: svc token create --name <text> --scope <scope>", tokens);
}

async function revoke(id: string, cli: CliHost): Promise<void> {
  const file = openTokenFile(await cli.data());
  const before = file.read().find((token) => token.id === id)?.revokedAt;
  const token = await revokeToken(file, id);
  if (before !== undefined) cli.print(`Token ${id} (${token.name}) was revoked already, ${before}.`, shown(token));
  else cli.print(`Token ${id} (${token.name}) is revoked: it is refused from now on.`, shown(token));
}

/** For people and beside the secret, so that `$(svc token create ...)` is the secret alone. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
