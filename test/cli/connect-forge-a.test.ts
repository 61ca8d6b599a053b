import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import { freePort } from "../kit/free-port.ts";
import { sharedLines } from "../kit/lines.ts";
import { openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOKEN = "glpat-canary-of-the-helper";
const PROJECT = "acme/tools/app";

async function stage(token = TOKEN): Promise<{ far: ForgeA; shell: Shell; line: Shell["svc"] }> {
  const far = await startForgeA();
  closing.push(() => far.close());
  far.addUser("ann");
  far.addUser("helper", { bot: true });
  far.addToken(TOKEN, "helper");
  far.addToken("glpat-canary-reader", "helper", { scopes: ["read_api"] });
  far.addProject(PROJECT, { private: true, members: { ann: "write", helper: "write" } });
  const shell = await openShell({ FORGE_A_TOKEN: token });
  closing.push(() => shell.end());
  return { far, shell, line: lines(shell, { FORGE_A_TOKEN: token }).svc };
}

const env = (shell: Shell) => (existsSync(join(shell.folder, ".env")) ? readFileSync(join(shell.folder, ".env"), "utf8") : "");
const secretOf = (shell: Shell) => /^FORGE_A_WEBHOOK_SECRET=(\w{48})$/m.exec(env(shell))?.[1] ?? "none";
const sectionOf = (shell: Shell) => (shell.config().channels as { forge_a: Record<string, unknown> } | undefined)?.forge_a;

describe("svc connect forge_a", () => {
  it("from an empty folder: checks the token, makes the secret, says what to enter, and the first mention is answered", async () => {
    const { far, shell, line } = await stage();
    const said = await shell.svc(
      "connect",
      "forge_a",
      "--yes",
      "--server",
      far.url,
      "--set",
      `project=${far.url}/${PROJECT}/-/issues`,
      "--set",
      "address=https://agents.example/",
    );
    expect(said).toMatchObject({ code: 0 });
    for (const words of [
      "https://agents.example/webhook/forge_a",
      `Secret token  ${secretOf(shell)}`,
      `${far.url}/${PROJECT}/-/hooks`,
      `mention @helper in ${PROJECT}`,
    ])
      expect(said.out).toContain(words);
    expect(sectionOf(shell)).toEqual({
      enabled: true,
      host: far.url,
      token: "${FORGE_A_TOKEN}",
      webhookSecret: "${FORGE_A_WEBHOOK_SECRET}",
      routes: [{ project: PROJECT, agent: "assistant" }],
    });
    expect(said.out + said.err + JSON.stringify(shell.config())).not.toContain("canary");

    const port = await freePort();
    const config = shell.config() as { node: object; agents: Record<string, object> };
    const assistant = { ...config.agents.assistant, tier: "local", local: { mode: "echo" } };
    const channels = { forge_a: { ...sectionOf(shell), webhookPort: port } };
    shell.write({ ...config, node: { ...config.node, bind: "127.0.0.1:0" }, agents: { assistant }, channels });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    far.hooks.add(`http://127.0.0.1:${port}/webhook/forge_a`, secretOf(shell));
    const issue = far.open("ann", PROJECT, "issue", { title: "Help" });
    const note = far.comment("ann", issue, "@helper are you there?");
    while (!far.comments(note.place).some(({ by, text }) => by === "helper" && text.includes("answered")))
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await line("channel", "test", "forge_a")).toMatchObject({ code: 0, out: expect.stringContaining("token: @helper") });
    expect(far.violations).toEqual([]);
  }, 60_000);

  it("once more, for another project: what is there stays, and so does the secret", async () => {
    const { far, shell, line } = await stage();
    far.addProject("acme/web", { members: { helper: "report" } });
    expect(await line("connect", "forge_a", "--yes", "--server", far.url, "--set", `project=${PROJECT}`)).toMatchObject({ code: 0 });
    const secret = secretOf(shell);
    expect(await line("connect", "forge_a", "--yes", "--set", "project=acme/web.git")).toMatchObject({ code: 0 });
    expect(sectionOf(shell)).toMatchObject({
      host: far.url,
      routes: [
        { project: PROJECT, agent: "assistant" },
        { project: "acme/web", agent: "assistant" },
      ],
    });
    expect(secretOf(shell)).toBe(secret);
  }, 60_000);

  it.each([
    ["a token that the forge refuses", { token: "glpat-canary-wrong" }, /refuses the token/],
    ["a token that can only read", { token: "glpat-canary-reader" }, /scope 'api'/],
    ["a project that the user does not see", { project: "acme/other" }, /@helper does not see the project acme\/other/],
    ["a public project of which it is no member", { project: "acme/open" }, /@helper is no member of acme\/open/],
    ["what is no project", { project: "acme" }, /'acme' is no project/],
    ["an agent that is not there", { agent: "nobody" }, /no agent 'nobody'/],
    ["an address that is none", { address: "agents.example" }, /'agents.example' is no address/],
  ])("writes nothing for %s", async (_what, wrong: { token?: string; project?: string; agent?: string; address?: string }, reason) => {
    const { token = TOKEN, project = PROJECT, agent = "assistant", address = "https://agents.example" } = wrong;
    const { far, shell, line } = await stage(token);
    far.addProject("acme/open", { members: {} });
    const said = await line("connect", "forge_a", "--yes", "--server", far.url, "--set", `project=${project}`, "--agent", agent, "--set", `address=${address}`);
    expect(said.code).not.toBe(0);
    expect(said.err).toMatch(reason);
    expect(said.err + said.out).not.toContain("canary");
    expect(sectionOf(shell)).toBeUndefined();
    expect(env(shell)).toBe("");
  });

  it("CFG-09 a changed secret counts at once, a changed port is told to wait for a restart", async () => {
    const { far, shell, line } = await stage();
    const port = await freePort();
    await line("connect", "forge_a", "--yes", "--server", far.url, "--set", `project=${PROJECT}`);
    const config = shell.config() as { node: object };
    const write = (more: object) =>
      shell.write({ ...config, node: { ...config.node, bind: "127.0.0.1:0" }, channels: { forge_a: { ...sectionOf(shell), webhookPort: port, ...more } } });
    write({});
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const daemon = JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as { port: number };
    const reload = async () => (await fetch(`http://127.0.0.1:${daemon.port}/reload`, { method: "POST" })).json();
    const post = async (secret: string) => {
      const headers = { "content-type": "application/json", "x-gitlab-token": secret };
      return (await fetch(`http://127.0.0.1:${port}/webhook/forge_a`, { method: "POST", headers, body: '{"object_kind":"push"}' })).status;
    };
    expect(await post(secretOf(shell))).toBe(204);
    write({ webhookSecret: "another-secret-of-hooks", webhookPort: port });
    expect(await reload()).toMatchObject({ reloaded: true, restartRequired: [] });
    expect(await post("another-secret-of-hooks")).toBe(204);
    expect(await post(secretOf(shell))).toBe(401);
    write({ webhookSecret: "another-secret-of-hooks", webhookPort: port + 1 });
    expect(await reload()).toMatchObject({ restartRequired: ["channels.forge_a.webhookPort"] });
    expect(await post("another-secret-of-hooks")).toBe(204);
  }, 60_000);
});
