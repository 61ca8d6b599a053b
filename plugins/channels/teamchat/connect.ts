import { type ChannelSettings, type ChannelSetup, chosenAgent, type SetupHost, svcError } from "@svc/sdk";
import { appManifest } from "./app-manifest.ts";
import { checkWorkspace } from "./check.ts";
import type { Settings } from "./settings.ts";
import { tokensProblem } from "./tokens.ts";
import { createWebApi } from "./web-api.ts";

const BOT_TOKEN = "TEAMCHAT_BOT_TOKEN";
const APP_TOKEN = "TEAMCHAT_APP_TOKEN";
const CHECK_MS = 60_000;
/** Keys for `--set`. */
const OWN = new Set(["allow"]);

const wrong = (message: string) => svcError("SVC_TEAMCHAT_SETUP", message, { status: 400 });

/** Used part of svc.json; secrets are masked there. */
interface Document {
  readonly node?: { readonly name?: string; readonly defaultAgent?: string };
  readonly agents?: Readonly<Record<string, unknown>>;
  readonly channels?: { readonly teamchat?: Settings };
}

/** `svc connect teamchat`: the app to paste, its two tokens, the agent that answers and who may write, checked against the platform. */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const before = document.channels?.teamchat ?? {};
  const unknown = Object.keys(host.given.values).find((key) => !OWN.has(key));
  if (unknown !== undefined)
    throw wrong(`--set ${unknown}=... is not asked here; ${[...OWN].join(", ")} is. Other settings: svc config set channels.teamchat.${unknown} <value>`);
  const apiRoot = host.given.server ?? before.apiRoot;
  host.say(
    [
      "Create the app at https://api.slack.com/apps (Create New App, From a manifest, pick the workspace), and paste this:",
      "",
      appManifest(document.node?.name ?? "helper"),
      "",
      "Then, on the app's pages:",
      "  Basic Information, App-Level Tokens: generate one with the scope connections:write (xapp-...)",
      "  Install App: install it; the Bot User OAuth Token is there (xoxb-...)",
      "",
    ].join("\n"),
  );
  const botToken = await host.secret(BOT_TOKEN);
  const appToken = await host.secret(APP_TOKEN);
  const problem = tokensProblem({ botToken: botToken.value, appToken: appToken.value });
  if (problem !== undefined) throw wrong(`${problem.key === "botToken" ? botToken.name : appToken.name} ${inVariables(problem.words, appToken.name)}`);
  const agent = await chosenAgent(host, document);
  host.say("Asking the platform about both tokens ...");
  const api = createWebApi(host, botToken.value.trim(), apiRoot);
  const { who, team, problems } = await checkWorkspace(api, appToken.value.trim(), AbortSignal.timeout(CHECK_MS));
  if (problems.length > 0 || who === undefined) throw wrong([...(who === undefined ? [] : [`It is ${who}, but`]), problems.join("\n")].join("\n"));
  host.say(`It is ${who}.`);
  const allowFrom = await listOf(host, before, team);
  const settings: ChannelSettings["settings"] = {
    enabled: true,
    ...(apiRoot === undefined ? {} : { apiRoot }),
    botToken: `\${${botToken.name}}`,
    appToken: `\${${appToken.name}}`,
    agentBinding: agent,
    ...(allowFrom.length === 0 ? {} : { allowFrom }),
  };
  const name = who.split(" ")[0];
  const next = `Write to ${name} in a direct message, or invite it to a channel (/invite ${name}) and mention it there.`;
  return { settings, next: allowFrom.length === 0 ? `Nobody is heard yet: svc config set channels.teamchat.allowFrom '["U..."]'. Then: ${next}` : next };
};
export default setUp;

/** The words speak of the settings; the person has just filled variables. */
const inVariables = (words: string, appToken: string): string => words.replace("and appToken the", `and ${appToken} the`);

/** Returns the allowed senders: an existing list of the section is kept. */
async function listOf({ given, ask }: SetupHost, { allowFrom = [] }: Settings, team: string | undefined): Promise<readonly string[]> {
  if (given.values.allow === undefined && allowFrom.length > 0) return allowFrom;
  const said =
    given.values.allow ??
    (await ask(
      `Who may write? Ids, with commas: people (U..., in their profile: Copy member ID), channels (C...), or ${team ?? "T..."} for the whole workspace`,
      {
        flag: "--set allow=<ids>",
        default: "",
      },
    ));
  const ids = said.split(/[\s,]+/).filter((id) => id !== "");
  const odd = ids.find((id) => !/^[A-Z][A-Z0-9]+$/.test(id));
  if (odd !== undefined) throw wrong(`'${odd}' is no id of the platform: they are of capital letters and digits, such as U012ABCDEF`);
  return [...new Set(ids)];
}
