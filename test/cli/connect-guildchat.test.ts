import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type GuildFarEnd, startGuildFarEnd } from "../kit/guildchat/server.ts";
import { openShell, type Shell } from "../kit/svc.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const TOKEN = "canary.of.the.bot";

async function stage(env: Record<string, string> = { GUILDCHAT_TOKEN: TOKEN }): Promise<{ far: GuildFarEnd; shell: Shell }> {
  const far = await startGuildFarEnd({ token: TOKEN });
  closing.push(() => far.close());
  const shell = await openShell(env);
  closing.push(() => shell.end());
  return { far, shell };
}

const section = (shell: Shell) => (shell.config().channels as { guildchat: object }).guildchat;
const connect = (shell: Shell, far: GuildFarEnd, ...more: string[]) => shell.svc("connect", "guildchat", "--yes", "--server", far.root, ...more);

describe("svc connect guildchat", () => {
  it("from an empty folder checks token, intent and guilds, proposes who made the application, and names what is missing with its link", async () => {
    const { far, shell } = await stage();
    far.flags = 0;
    const said = await connect(shell, far);
    expect(said).toMatchObject({ code: 0 });
    expect(section(shell)).toEqual({
      enabled: true,
      apiRoot: far.root,
      token: "${GUILDCHAT_TOKEN}",
      agentBinding: "assistant",
      allowFrom: [far.owner.id],
    });
    expect(said.out).toContain(`Missing: the Message Content Intent. Switch it on at https://discord.com/developers/applications/${far.bot.id}/bot`);
    expect(said.out).toContain(
      `Missing: a server. Add the bot to yours at https://discord.com/oauth2/authorize?client_id=${far.bot.id}&scope=bot%20applications.commands`,
    );
    expect(said.out + said.err + JSON.stringify(shell.config())).not.toContain("canary");
  });

  it("with everything there it says where the bot is; people of the line count", async () => {
    const { far, shell } = await stage();
    far.addGuild("The Garden");
    const said = await connect(shell, far, "--allow", `${far.owner.id}, role:123456`);
    expect(said).toMatchObject({ code: 0 });
    expect(said.out).toContain("@helper is in The Garden");
    expect(said.out).not.toContain("Missing");
    expect(section(shell)).toMatchObject({ allowFrom: [far.owner.id, "role:123456"] });
  });

  it("a token that is refused, one of a person, an id that is none: said with the next step, and nothing is written", async () => {
    const { far, shell } = await stage({ GUILDCHAT_TOKEN: "wrong.canary" });
    const refused = await connect(shell, far);
    expect(refused).toMatchObject({ code: expect.not.stringMatching(/^0$/) });
    expect(refused.err).toContain("Discord refuses the token: make a new one at https://discord.com/developers/applications");
    far.token = "wrong.canary";
    const named = await connect(shell, far, "--allow", "@ada");
    expect(named.err).toContain("'@ada' is no id");
    const file = join(shell.folder, "svc.json");
    expect(existsSync(file) && readFileSync(file, "utf8").includes("guildchat")).toBe(false);
    expect(refused.err + named.err).not.toContain("canary");
  });
});
