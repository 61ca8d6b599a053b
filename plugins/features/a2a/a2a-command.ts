import { createHash, timingSafeEqual } from "node:crypto";
import { type Authority, type CliHost, type CommandGroup, svcError } from "@svc/sdk";

const PORT = 18_820;
const LEAST_TOKEN = 16;

const group: CommandGroup = {
  name: "a2a",
  summary: "Serve an agent to other agents over A2A",
  commands: [
    {
      name: "a2a",
      args: "",
      summary: "Serve one agent over A2A until it is stopped; tasks go through the daemon",
      options: [
        { flags: "--agent <id>", description: "the agent that answers (default: node.defaultAgent)" },
        { flags: "--host <address>", description: "where it listens (default: 0.0.0.0, every address of this machine)" },
        { flags: "--port <n>", description: `its port (default: ${PORT}; 0 takes any free one)`, number: { least: 0, most: 65_535 } },
        { flags: "--url <address>", description: "where callers reach it, for its card (default: what they called it by)" },
        { flags: "--token-env <NAME>", description: "the environment variable with the bearer that callers must show" },
      ],
      run: (_args, options, cli) => serve(options, cli),
    },
  ],
};
export default group;

interface Listed {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
}

async function serve(options: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  const { host = "0.0.0.0", port = PORT, tokenEnv, url } = options as { host?: string; port?: number; tokenEnv?: string; url?: string };
  const agent = await agentOf(options["agent"] as string | undefined, cli);
  const token = tokenEnv === undefined ? undefined : tokenOf(tokenEnv);
  const { serverRoutes } = await import("./server-routes.js");
  const { cardOf } = await import("./card.js");
  const description = agent.description ?? `The agent ${agent.name ?? agent.id}.`;
  const routes = serverRoutes({
    agent: agent.id,
    cli,
    guarded: token !== undefined,
    card: ({ headers }) =>
      cardOf({
        name: agent.name ?? agent.id,
        description,
        version: "1",
        guarded: token !== undefined,
        url: url ?? `http://${String(headers["host"] ?? host)}/`,
      }),
  });
  const server = await cli.serve({ host, port, routes, authorities: token === undefined ? [] : [bearerAuthority(token)] });
  if (token === undefined && !/^(127\.|::1$|localhost$)/.test(server.host))
    process.stderr.write(
      `svc a2a: without --token-env everyone who reaches ${server.host}:${server.port} can use ${agent.id}. Use --host 127.0.0.1, or put a gateway in front.\n`,
    );
  cli.print(`${agent.id} answers A2A on http://${server.host}:${server.port}/ (card: /.well-known/agent-card.json)`, { ...server, agent: agent.id });
  await new Promise<void>((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  await server.close();
}

async function agentOf(id: string | undefined, cli: CliHost): Promise<Listed> {
  const { agents } = (await cli.request("GET", "/agents")) as { agents: readonly Listed[] };
  const { node } = (await cli.readSettings()).document as { node?: { defaultAgent?: string } };
  const wanted = id ?? node?.defaultAgent ?? (agents.length === 1 ? agents[0]?.id : undefined);
  const found = agents.find((agent) => agent.id === wanted);
  if (found !== undefined) return found;
  throw svcError(
    "SVC_A2A_AGENT",
    wanted === undefined
      ? "Name the agent that answers with --agent <id>, or set node.defaultAgent; see svc agent list."
      : `There is no agent '${wanted}'; see svc agent list.`,
  );
}

function tokenOf(name: string): string {
  const token = process.env[name] ?? "";
  if (token.length >= LEAST_TOKEN && /^\S+$/.test(token)) return token;
  throw svcError(
    "SVC_A2A_TOKEN",
    `The environment variable ${name} must hold a bearer of at least ${LEAST_TOKEN} characters without a blank, such as that of openssl rand -hex 32.`,
  );
}

function bearerAuthority(token: string): Authority {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const known = digest(token);
  return {
    name: "a2a",
    verify: async (bearer) =>
      timingSafeEqual(digest(bearer), known) ? { kind: "token", id: "a2a", name: "A2A caller", scopes: ["a2a:call"], family: "a2a" } : undefined,
  };
}
