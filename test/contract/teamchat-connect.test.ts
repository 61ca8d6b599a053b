import type { ChannelSettings, SetupHost } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import setUp from "../../plugins/channels/teamchat/connect.ts";
import type { Teamchat } from "../kit/teamchat/server.ts";
import { furnish } from "./teamchat.harness.ts";

let far: Teamchat;
afterEach(() => far.close());

interface Person {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, string>>;
  readonly answers?: Readonly<Record<string, string>>;
  readonly section?: object;
}

/** Somebody at the terminal, and what was said there. */
async function connect({ secrets, values = {}, answers = {}, section = {} }: Person = {}): Promise<{ settings: ChannelSettings; said: string }> {
  const { botToken, appToken } = far.world.workspaces[0]!;
  const given: Readonly<Record<string, string>> = secrets ?? { TEAMCHAT_BOT_TOKEN: botToken, TEAMCHAT_APP_TOKEN: appToken };
  const said: string[] = [];
  const host: SetupHost = {
    folder: "/nowhere",
    given: { server: far.root, values },
    fetch: createFetch(),
    readSettings: async () => ({ document: { node: { name: "garden" }, agents: { anna: {}, ben: {} }, channels: { teamchat: section } } }) as never,
    ask: (async (question: string) => Object.entries(answers).find(([start]) => question.startsWith(start))?.[1] ?? "") as never,
    say: (text) => void said.push(text),
    secret: async (name) => ({ name, value: given[name] ?? "" }),
    keep: async (_name, value) => value,
  };
  try {
    return { settings: await setUp(host), said: said.join("\n") };
  } catch (error) {
    throw Object.assign(error as Error, { said: said.join("\n") });
  }
}

describe("svc connect teamchat", () => {
  it("prints the app to paste, checks both tokens, and writes references in place of them", async () => {
    far = await furnish();
    const { settings, said } = await connect({ answers: { "Which agent": "ben", "Who may write": "U1ADA, T1" } });
    expect(settings.settings).toEqual({
      enabled: true,
      apiRoot: far.root,
      botToken: `\${TEAMCHAT_BOT_TOKEN}`,
      appToken: `\${TEAMCHAT_APP_TOKEN}`,
      agentBinding: "ben",
      allowFrom: ["U1ADA", "T1"],
    });
    expect(settings.next).toMatch(/\/invite @helper/);
    const pasted = JSON.parse(said.slice(said.indexOf("{"), said.indexOf("\n}\n") + 2));
    expect(pasted).toMatchObject({ display_information: { name: "garden" }, settings: { socket_mode_enabled: true } });
    expect(said).toContain("It is @helper in Acme.");
    expect(JSON.stringify([settings, said])).not.toMatch(/-secret/);
    // Nobody is connected by that, and nothing is sent.
    expect([far.sockets.attempts(), far.calls.map(({ method }) => method).sort()]).toEqual([0, ["apps.connections.open", "auth.test"]]);
  });

  it("names what is missing: swapped tokens, scopes, the socket-mode switch, a revoked token", async () => {
    far = await furnish();
    const [workspace] = far.world.workspaces;
    const { botToken, appToken } = workspace!;
    const agent = { answers: { "Which agent": "anna" } };
    await expect(connect({ ...agent, secrets: { TEAMCHAT_BOT_TOKEN: appToken, TEAMCHAT_APP_TOKEN: botToken } })).rejects.toThrow(
      /^TEAMCHAT_BOT_TOKEN holds the app-level token .* TEAMCHAT_APP_TOKEN the bot token .*swap the two/,
    );
    expect(far.calls).toEqual([]);
    workspace!.scopes.delete("reactions:write");
    workspace!.socketMode = false;
    await expect(connect(agent)).rejects.toThrow(
      /It is @helper in Acme, but\n.*reactions:write \(without it: it puts no emoji on what it took\)[\s\S]*socket mode is switched off/,
    );
    workspace!.refused = "token_revoked";
    await expect(connect(agent)).rejects.toThrow(/botToken: auth.test: the platform refuses the token \(token_revoked\)/);
    await expect(connect({ ...agent, values: { dm: "block" } })).rejects.toThrow(/--set dm=... is not asked here.*svc config set channels.teamchat.dm/);
  });

  it("closed by default: without a list it says how to make one; ids that are none are refused; a list that is there stays", async () => {
    far = await furnish();
    const agent = { "Which agent": "anna" };
    expect((await connect({ answers: agent })).settings.next).toMatch(/^Nobody is heard yet: svc config set channels.teamchat.allowFrom/);
    await expect(connect({ answers: agent, values: { allow: "ada@example.com" } })).rejects.toThrow(/'ada@example.com' is no id of the platform/);
    expect((await connect({ answers: agent, section: { allowFrom: ["U7"] } })).settings.settings.allowFrom).toEqual(["U7"]);
  });
});
