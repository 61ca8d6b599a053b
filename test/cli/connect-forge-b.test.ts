import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type ForgeBServer, startForgeB } from "../kit/forge-b/server.ts";
import { freePort } from "../kit/free-port.ts";
import { sharedLines } from "../kit/lines.ts";
import { openShell, type Shell } from "../kit/svc.ts";
import { lacking, talk } from "./talk.harness.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOKEN = "ghp_canary_of_the_helper";

async function stage(env: Record<string, string> = { FORGE_B_TOKEN: TOKEN }): Promise<{ far: ForgeBServer; shell: Shell; line: Shell["svc"] }> {
  const far = await startForgeB();
  closing.push(() => far.close());
  far.addUser("ann");
  far.addUser("helper");
  far.addToken(TOKEN, "helper");
  far.addProject("acme/app", { private: true, members: { ann: "write", helper: "write" } });
  const shell = await openShell(env);
  closing.push(() => shell.end());
  return { far, shell, line: lines(shell, env).svc };
}

const env = (shell: Shell) => (existsSync(join(shell.folder, ".env")) ? readFileSync(join(shell.folder, ".env"), "utf8") : "");
const secretOf = (shell: Shell) => /^FORGE_B_WEBHOOK_SECRET=(\w{48})$/m.exec(env(shell))?.[1] ?? "none";

describe("svc connect forge_b", () => {
  it("from an empty folder checks the token at the forge, writes svc.json and says what to enter there", async () => {
    const { far, shell, line } = await stage();
    const said = await shell.svc(
      "connect",
      "forge_b",
      "--yes",
      "--server",
      far.url,
      "--set",
      "repo=https://github.com/acme/app",
      "--set",
      "address=https://agents.example/",
    );
    expect(said).toMatchObject({ code: 0 });
    expect(said.out).toContain("https://agents.example/webhook/forge_b");
    expect(said.out).toContain(`Secret        ${secretOf(shell)}`);
    expect(said.out).toContain(`${far.url}/acme/app/settings/hooks/new`);
    expect(said.out).toContain("mention @helper in acme/app");
    expect((shell.config().channels as { forge_b: object }).forge_b).toEqual({
      enabled: true,
      apiRoot: far.url,
      token: "${FORGE_B_TOKEN}",
      webhookSecret: "${FORGE_B_WEBHOOK_SECRET}",
      routes: [{ repo: "acme/app", agent: "assistant" }],
    });
    expect(said.out + said.err + JSON.stringify(shell.config())).not.toContain("canary");
    // Once more, for another repository: the first one and the secret stay.
    const secret = secretOf(shell);
    far.addProject("acme/web", { members: { helper: "write" } });
    expect(await line("connect", "forge_b", "--yes", "--set", "repo=acme/web")).toMatchObject({ code: 0 });
    expect((shell.config().channels as { forge_b: { routes: object } }).forge_b.routes).toEqual([
      { repo: "acme/app", agent: "assistant" },
      { repo: "acme/web", agent: "assistant" },
    ]);
    expect(secretOf(shell)).toBe(secret);
    expect(far.violations).toEqual([]);
  });

  it("with an App: its key, where it is installed", async () => {
    const { far, shell, line } = await stage({});
    writeFileSync(join(shell.folder, "app.pem"), far.app.privateKey);
    const connect = () =>
      line(
        "connect",
        "forge_b",
        "--yes",
        "--server",
        far.url,
        "--set",
        "repo=acme/app",
        "--set",
        `clientId=${far.app.clientId}`,
        "--set",
        "privateKeyFile=app.pem",
      );
    expect(await connect()).toMatchObject({ code: 2, err: expect.stringContaining("is installed nowhere") });
    expect(env(shell)).toBe("");
    far.install(["acme/app"]);
    expect(await connect()).toMatchObject({ code: 0, out: expect.stringContaining("mention @svc-app in acme/app") });
    expect((shell.config().channels as { forge_b: object }).forge_b).toMatchObject({
      clientId: far.app.clientId,
      privateKeyFile: join(shell.folder, "app.pem"),
    });
  });

  it.each([
    ["a token that the forge refuses", { token: "ghp_canary_wrong" }, /refuses the token/],
    ["a repository that it does not see", { repo: "acme/other" }, /@helper does not see acme\/other/],
    ["a repository where it may not write", { repo: "acme/read" }, /needs the right to write/],
    ["what is no repository", { repo: "acme" }, /'acme' is no repository/],
    ["an agent that is not there", { agent: "nobody" }, /no agent 'nobody'/],
  ])(
    "writes nothing for %s",
    async (_what, { token = TOKEN, repo = "acme/app", agent = "assistant" }: { token?: string; repo?: string; agent?: string }, reason) => {
      const { far, shell, line } = await stage({ FORGE_B_TOKEN: token });
      far.addProject("acme/read", { members: { helper: "report" } });
      const said = await line("connect", "forge_b", "--yes", "--server", far.url, "--set", `repo=${repo}`, "--agent", agent);
      expect(said.code).not.toBe(0);
      expect(said.err).toMatch(reason);
      expect(said.err + said.out).not.toContain("canary");
      expect(shell.config().channels).toBeUndefined();
      expect(env(shell)).toBe("");
    },
  );

  it("without a terminal names the option that says what is missing", async () => {
    const { far, line } = await stage();
    expect(await line("connect", "forge_b", "--yes", "--server", far.url)).toMatchObject({
      code: 1,
      err: expect.stringContaining("--set repo=<owner/repo>"),
    });
  });

  it.skipIf(lacking !== undefined)("a person in an empty folder is asked for everything, and the first mention is answered", async () => {
    const { far, shell } = await stage({});
    const said = await talk(shell, `connect forge_b --server ${far.url}`, [
      [/As whom does the agent write\?[\s\S]*1 to 2 \[1\]: $/, "1"],
      [/FORGE_B_TOKEN \(not shown\): $/, TOKEN],
      [/Which repository .*: $/, "acme/app"],
      [/Under which address .*: $/, ""],
    ]);
    expect(said).toMatchObject({ code: 0 });
    expect(said.asked).toHaveLength(4);
    expect(said.shown).toContain(":18810/webhook/forge_b");
    expect(said.shown).not.toContain("canary");
    const config = shell.config() as { node: object; agents: { assistant: object }; channels: object };
    const port = await freePort();
    shell.write({
      ...config,
      node: { ...config.node, bind: "127.0.0.1:0" },
      agents: { assistant: { ...config.agents.assistant, tier: "local", local: { mode: "echo" } } },
      channels: { ...config.channels, forge_a: { enabled: false, webhookPort: port } },
    });
    expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
    const connected = async () =>
      (await lines(shell).json<{ name: string; state: string }[]>("channel", "list")).find(({ name }) => name === "forge_b")?.state === "ready";
    while (!(await connected())) await new Promise((resolve) => setTimeout(resolve, 50));
    far.hooks.add(`http://127.0.0.1:${port}/webhook/forge_b`, secretOf(shell));
    const issue = far.open("ann", "acme/app", "issue", { title: "It breaks", text: "@helper the first mention" });
    while (!far.comments(issue).some(({ by, text }) => by === "helper" && text.includes("answered") && text.includes("the first mention")))
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await lines(shell).svc("channel", "test", "forge_b")).out).toContain("@helper");
    expect((await lines(shell).svc("forge", "status")).out).toContain("forge_b");
    expect(far.violations).toEqual([]);
  });
});
