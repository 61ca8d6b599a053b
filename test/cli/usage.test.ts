import { afterEach, describe, expect, it } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell, sharedDaemon } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const shells: Shell[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
});

async function folder(config: unknown = echoConfig()): Promise<Shell> {
  const shell = await openShell();
  shells.push(shell);
  shell.write(config);
  return shell;
}

describe("wrong usage", () => {
  it("OPR-m8 a value that is no number, no allowed word, or missing is wrong usage, of our commands and of plugins", async () => {
    const shell = lines(await folder());
    for (const [said, ...line] of [
      ["a number from 0 on", "daemon", "stop", "--timeout", "abc"],
      ["a whole number from 1 on", "daemon", "logs", "-n", "abc"],
      ["a number from 1 to 240", "exec", "echo", "x", "--timeout", "abc"],
      ["a number from 1 to 240", "exec", "echo", "x", "--timeout", ""],
      ["a whole number from 1 on", "trace", "list", "-n", "1.5"],
      ["Allowed choices are in-flight, ok, error, timeout", "trace", "list", "--status", "done"],
      ["a whole number from 1 to 1000", "guard", "log", "--limit", "0"],
      ["a whole number from 1 to 36500", "token", "create", "--name", "x", "--scope", "agent:*", "--expires", "soon"],
      ["a whole number from 1 to 600000", "actions", "add", "x", "--command", "true", "--timeout", "abc"],
      ["--name <text>' not specified", "token", "create", "--scope", "agent:*"],
      ["--scope <scope...>' not specified", "token", "create", "--name", "x"],
      ["There is no scope 'agent:'", "token", "create", "--name", "x", "--scope", "agent:"],
      ["--agent <id>' not specified", "mcp"],
    ] as const)
      expect(await shell.svc(...line), line.join(" ")).toMatchObject({ code: 2, out: "", err: expect.stringContaining(said) });
  });

  it("OPR-m9 help is no mistake, and says of a group what the group says; an unknown command is one, with --help, too", async () => {
    const opened = await folder();
    const shell = lines(opened);
    const help = await opened.svc("help");
    expect(help).toEqual(await shell.svc("--help"));
    expect(help).toMatchObject({ code: 0, err: "", out: expect.stringContaining("Start here") });
    expect(await shell.svc("help", "daemon")).toEqual(await shell.svc("daemon", "--help"));
    expect(await shell.svc("help", "daemon", "stop")).toMatchObject({ code: 0, out: expect.stringContaining("--timeout <seconds>") });
    expect(await shell.svc("help", "token")).toMatchObject({ code: 0, out: expect.stringContaining("revoke") });
    for (const line of [["zzz"], ["zzz", "--help"], ["help", "zzz"]])
      expect(await shell.svc(...line)).toMatchObject({ code: 2, out: "", err: expect.stringContaining("unknown command 'zzz'") });
    for (const line of [
      ["daemon", "zzz", "--help"],
      ["help", "daemon", "zzz"],
    ])
      expect(await shell.svc(...line)).toMatchObject({ code: 2, out: "", err: expect.stringContaining("unknown command 'zzz'") });
    expect(await shell.svc("daemon", "help", "stop")).toMatchObject({ code: 0, out: expect.stringContaining("--timeout <seconds>") });
    expect(await shell.svc("--config", "x.json", "exec", "--help")).toMatchObject({ code: 0, out: expect.stringContaining("<agent> <message...>") });
    expect(await shell.svc("deamon", "--help")).toMatchObject({ code: 2, err: expect.stringContaining("Did you mean daemon?") });
  });

  it("OPR-m10 under --json it is one JSON object on standard error, and nothing else is printed", async () => {
    const shell = lines(await folder());
    for (const [said, ...line] of [
      ["unknown command 'nosuch'", "--json", "nosuch"],
      ["unknown command 'nosuch'", "daemon", "nosuch", "--json"],
      ["unknown option '--nosuch'", "trace", "list", "--nosuch", "--json"],
      ["missing required argument 'agent'", "exec", "--json"],
      ["must be a whole number", "trace", "list", "--json", "-n", "abc"],
      ["A command is missing", "daemon", "--json"],
    ] as const) {
      const { code, out, err } = await shell.svc(...line);
      expect({ code, out }, line.join(" ")).toEqual({ code: 2, out: "" });
      expect(JSON.parse(err)).toEqual({ error: expect.stringContaining(said), code: "SVC_CLI_USAGE" });
    }
  });
});

describe("commands of plugins", () => {
  const agents = { ...echoConfig().agents, open: { ...echoConfig().agents.echo, access: "public" } };
  const running = sharedDaemon(echoConfig({}, { agents }));

  it("OPR-m24 a command whose plugin the daemon does not run names the plugin", async () => {
    const { code, err } = await running().svc("guard", "log");
    expect(code).toBe(1);
    expect(err).toContain("The daemon does not run the plugin tier-cli-a, which answers svc guard.");
    expect(err).toContain("svc config set agents.<id>.tier cli-a");
  });

  it("OPR-m26 a token for an agent that is not there, or private, comes with a note on what it does not open", async () => {
    const line = (...scopes: string[]) => ["token", "create", "--name", "x", ...scopes.flatMap((scope) => ["--scope", scope])];
    // Without a daemon nobody knows the agents.
    expect((await lines(await folder(running().config())).svc(...line("agent:nobody"))).err).not.toContain("Note:");
    expect(await running().svc(...line("agent:nobody", "agent:echo"))).toMatchObject({ code: 0, out: expect.stringMatching(/^\S+\n$/) });
    const { svc } = lines(running());
    const { err } = await svc(...line("agent:nobody", "agent:echo"));
    expect(err).toContain("there is no agent 'nobody'");
    expect(err).toContain("svc config set agents.echo.access public");
    expect((await svc(...line("agent:open", "agent:*", "dashboard:read"))).err).not.toContain("Note:");
  });
});
