import { type ChannelSettings, type ChannelSetup, chosenAgent, reasonOf, type SetupHost, svcError } from "@svc/sdk";
import { type Api, createApi } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import { ENTRY, PUBLIC_API, type Settings } from "./settings.ts";
import type { WireUser } from "./wire.ts";

const TOKEN = "GUILDCHAT_TOKEN";
const CHECK_MS = 60_000;
const PORTAL = "https://discord.com/developers/applications";
/** Flags of an application: it has the intent, as one that was reviewed or as one in few guilds. */
const MESSAGE_CONTENT = (1 << 18) | (1 << 19);
/** See channels, send messages and files, in threads too, read history, add reactions, use slash commands. */
const RIGHTS = (1n << 10n) | (1n << 11n) | (1n << 15n) | (1n << 38n) | (1n << 16n) | (1n << 6n) | (1n << 14n);

/** Used part of svc.json. */
interface Document {
  readonly node?: { readonly defaultAgent?: string };
  readonly agents?: Readonly<Record<string, unknown>>;
  readonly channels?: { readonly guildchat?: Settings };
}

interface Application {
  readonly id: string;
  readonly flags?: number;
  readonly owner?: WireUser;
  readonly team?: { readonly owner_user_id?: string } | null;
}

const wrong = (message: string) => svcError("SVC_GUILDCHAT_SETUP", message, { status: 400 });

/** `svc connect guildchat`: the token, its intents and guilds are checked with the platform before anything is written. */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const before = document.channels?.guildchat ?? {};
  const apiRoot = host.given.server ?? before.apiRoot;
  const { name, value } = await host.secret(TOKEN);
  if (value === "") throw wrong(`${TOKEN} is empty: make a token at ${PORTAL} (your application, Bot, Reset Token)`);
  // People copy it with what stands before it.
  const token = value.replace(/^Bot\s+/i, "").trim();
  const api = createApi(host, token, apiRoot);
  host.say("Asking Discord who this is ...");
  const { me, application, guilds } = await check(api, apiRoot ?? PUBLIC_API);
  const agent = await chosenAgent(host, document);
  const allowFrom = await allowOf(host, before, application);
  const settings: ChannelSettings["settings"] = {
    enabled: true,
    ...(apiRoot === undefined ? {} : { apiRoot }),
    token: `\${${name}}`,
    agentBinding: agent,
    allowFrom,
  };
  return { settings, next: nextOf(me, application, guilds, allowFrom) };
};
export default setUp;

interface Checked {
  readonly me: WireUser;
  readonly application: Application;
  readonly guilds: readonly { readonly id: string; readonly name?: string }[];
}

async function check(api: Api, root: string): Promise<Checked> {
  const signal = AbortSignal.timeout(CHECK_MS);
  try {
    const me = await api.call<WireUser>({ path: "/users/@me", signal });
    if (me.bot !== true) throw wrong(`This is the token of a person, not of a bot: make one at ${PORTAL} (your application, Bot, Reset Token)`);
    const application = await api.call<Application>({ path: "/applications/@me", signal });
    const guilds = await api.call<Checked["guilds"]>({ path: "/users/@me/guilds", query: { limit: 200 }, signal });
    return { me, application, guilds };
  } catch (error) {
    if (answeredStatus(error) === 401) throw wrong(`Discord refuses the token: make a new one at ${PORTAL} (your application, Bot, Reset Token)`);
    if ((error as { code?: string }).code === "SVC_GUILDCHAT_SETUP") throw error;
    throw wrong(`${new URL(root).host} could not be asked: ${reasonOf(error)}`);
  }
}

/** Chooses the allowed senders: from the command line, else the present ones, else the person's answer, which is usually the owner of the application. */
async function allowOf({ given, ask }: SetupHost, { allowFrom = [] }: Settings, { owner, team }: Application): Promise<readonly string[]> {
  const said = given.allow ?? given.values.allowFrom?.split(",");
  const usual = allowFrom.length > 0 ? allowFrom.join(",") : (team?.owner_user_id ?? owner?.id);
  const list =
    said ??
    (
      await ask(
        `Who may write? Ids, separated by commas${owner === undefined || team ? "" : ` (${owner.id} is ${owner.username}, who made this application)`}`,
        {
          flag: "--allow <ids>",
          ...(usual === undefined ? {} : { default: usual }),
        },
      )
    ).split(",");
  const entries = list.map((entry) => entry.trim()).filter((entry) => entry !== "");
  const bad = entries.find((entry) => !new RegExp(ENTRY).test(entry));
  if (bad !== undefined)
    throw wrong(
      `'${bad}' is no id: switch on Settings, Advanced, Developer Mode in Discord, right click a person, role, server or channel, and Copy ID; then role:<id>, guild:<id> or channel:<id>`,
    );
  return entries;
}

/** Returns the missing steps, with their addresses. */
function nextOf(me: WireUser, { id, flags = 0 }: Application, guilds: Checked["guilds"], allowFrom: readonly string[]): string {
  const invite = `https://discord.com/oauth2/authorize?client_id=${id}&scope=bot%20applications.commands&permissions=${RIGHTS}`;
  return [
    ...((flags & MESSAGE_CONTENT) !== 0
      ? []
      : [`Missing: the Message Content Intent. Switch it on at ${PORTAL}/${id}/bot, and restart; until then only mentions and direct messages are heard.`]),
    guilds.length === 0
      ? `Missing: a server. Add the bot to yours at ${invite}`
      : `@${me.username} is in ${guilds.map(({ name, id: guild }) => name ?? guild).join(", ")}. Add it to another server at ${invite}`,
    ...(allowFrom.length === 0 ? ["Missing: people who may write. Nobody is heard until channels.guildchat.allowFrom names somebody."] : []),
    `Then mention @${me.username}, write to it directly, or use /ask.`,
  ].join("\n");
}
