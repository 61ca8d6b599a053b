import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const PROGRAM = join(ROOT, "cli/bin/svc.cjs");

async function shellWith(config: unknown): Promise<Shell> {
  const shell = await openShell();
  shell.write(config);
  return shell;
}

const words = async (shell: Shell, ...line: string[]) =>
  (await lines(shell).svc("completion", "words", "--", ...line)).out.split("\n").filter((word) => word !== "");

/** Runs a script in a shell that finds `svc` on its PATH. */
function inShell(shell: Shell, program: string, script: string): string {
  const bin = join(shell.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "svc"), `#!/bin/sh\nexec ${process.execPath} ${PROGRAM} "$@"\n`);
  chmodSync(join(bin, "svc"), 0o755);
  const done = spawnSync(program, ["-c", script], {
    cwd: shell.folder,
    encoding: "utf8",
    // With a socket for its input bash takes itself for a remote shell, and runs this machine's start files.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, SVC_CONFIG: "", PATH: `${bin}:${process.env.PATH}` },
  });
  return done.stdout + done.stderr;
}

describe("completion", () => {
  it("OPR-m21 knows groups, commands, options, agents, channels, shells and settings", async () => {
    const shell = await shellWith({ ...echoConfig(), channels: { topicpush: { enabled: false, topic: "t" } } });
    expect(await words(shell, "dae")).toEqual(["daemon"]);
    expect(await words(shell, "daemon", "st")).toEqual(["start", "status", "stop"]);
    expect(await words(shell, "--json", "daemon", "st")).toEqual(["start", "status", "stop"]);
    expect(await words(shell, "daemon", "send", "")).toEqual(["echo"]);
    expect(await words(shell, "agent", "remove", "e")).toEqual(["echo"]);
    expect(await words(shell, "daemon", "start", "--")).toEqual(expect.arrayContaining(["--foreground", "--json"]));
    expect(await words(shell, "channel", "test", "")).toEqual(["topicpush"]);
    expect(await words(shell, "connect", "")).toEqual(expect.arrayContaining(["botmsg", "forge_a", "topicpush"]));
    expect(await words(shell, "completion", "z")).toEqual(["zsh"]);
    expect(await words(shell, "config", "set", "session.st")).toEqual(["session.staleMinutes"]);
    expect(await words(shell, "config", "get", "agents.")).toContain("agents.echo");
    expect(await words(shell, "dance", "")).toEqual([]);
  });

  it("SEC-R2 offers no word that a shell would run when the line is sent off", async () => {
    const agents = { echo: {}, "$(touch${IFS}x)": {}, "a;b": {}, "`id`": {}, "two\nlines": {}, "-x&": {} };
    const shell = await shellWith({ ...echoConfig(), agents });
    expect(await words(shell, "agent", "remove", "")).toEqual(["echo"]);
  });

  it("says nothing, with exit code 0, where the configuration cannot be read", async () => {
    const shell = await shellWith("{ broken");
    expect(await shell.svc("completion", "words", "--", "agent", "remove", "")).toEqual({ code: 0, out: "", err: "" });
  });

  it("OPR-m21 works in a real bash", async () => {
    const shell = await shellWith(echoConfig());
    const said = inShell(shell, "bash", 'source <(svc completion bash); COMP_WORDS=(svc daemon send ""); COMP_CWORD=3; _svc; echo "${COMPREPLY[*]}"');
    expect(said).toBe("echo\n");
  });

  it.skipIf(!existsSync("/usr/bin/zsh"))("OPR-m21 works in a real zsh, without compinit in its start files", async () => {
    const shell = await shellWith(echoConfig());
    const said = inShell(shell, "zsh", 'source <(svc completion zsh); compadd() { print -l -- "$@"; }; words=(svc daemon st); CURRENT=3; _svc');
    expect(said).toBe("--\nstart\nstatus\nstop\n");
  });
});

describe("what can be configured", () => {
  it("config describe tells what a setting means, its range and default, and suggests a name", async () => {
    const shell = await shellWith(echoConfig());
    const setting = await shell.svc("config", "describe", "agents.echo.maxExecutionMinutes");
    expect(setting).toMatchObject({ code: 0, out: expect.stringMatching(/minutes a run may take[\s\S]*default\s+20[\s\S]*allowed\s+1 to 240/) });
    expect((await lines(shell).svc("config", "describe")).out).toMatch(/ {2}channels {2,}channels by name\n[\s\S]* {2}mesh {2,}/);
    expect(await lines(shell).svc("config", "describe", "agents.echo.maxConcurent")).toMatchObject({
      code: 1,
      err: expect.stringContaining("did you mean maxConcurrent?"),
    });
  });

  it("OPR-schema config schema is a JSON schema of every first-party section, and --write puts it where editors find it", async () => {
    const shell = await shellWith(echoConfig());
    const schema = await shell.json<{ properties: Record<string, { properties?: Record<string, unknown> }>; additionalProperties: boolean }>(
      "config",
      "schema",
    );
    expect(schema.properties.channels?.properties).toHaveProperty("botmsg");
    expect(JSON.stringify(schema)).not.toMatch(/"(secret|restart)":true|"format":"url"/);
    const { default: Ajv } = await import("ajv/dist/2020.js");
    const validate = new Ajv.default({ strict: false, allErrors: true, logger: false }).compile(schema);
    expect(validate(shell.config()), JSON.stringify(validate.errors)).toBe(true);
    expect(validate(JSON.parse(readFileSync(join(ROOT, "svc.json.example"), "utf8"))), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...shell.config(), agnets: {} })).toBe(false);
    expect(await lines(shell).svc("config", "schema", "--write")).toMatchObject({ code: 0 });
    expect(shell.config().$schema).toBe("./.svc/svc.schema.json");
    expect(JSON.parse(readFileSync(join(shell.folder, ".svc/svc.schema.json"), "utf8"))).toEqual(schema);
    expect((await lines(shell).svc("config", "check")).code).toBe(0);
  });
});
