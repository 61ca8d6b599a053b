import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type ChannelSettings, type ChannelSetup, chosenAgent, reasonOf, type SetupHost, svcError } from "@svc/sdk";
import { type Api, at, createApi } from "./client.ts";
import { PUBLIC_HOST, type Route, type Settings } from "./settings.ts";
import { fieldsOf, numberOf, textOf, userOf } from "./shapes.ts";

const TOKEN = "FORGE_A_TOKEN";
const SECRET = "FORGE_A_WEBHOOK_SECRET";
const PORT = 18_810;
const CHECK_MS = 60_000;
/** Users below this level cannot comment in a private project. */
const GUEST = 10;
/** Keys for `--set`. */
const KEYS: ReadonlySet<string> = new Set(["project", "address"]);

/** Used part of svc.json; secrets are masked there. */
interface Document {
  readonly node?: { readonly defaultAgent?: string };
  readonly agents?: Readonly<Record<string, unknown>>;
  readonly channels?: { readonly forge_a?: Settings };
}

const refuse = (message: string) => svcError("SVC_FORGE_SETUP", message, { status: 400 });

/** `svc connect forge_a`: the token of the agent's user, a project and the agent that answers there, checked at the forge. */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const before = document.channels?.forge_a ?? {};
  const other = Object.keys(host.given.values).find((key) => !KEYS.has(key));
  if (other !== undefined)
    throw refuse(`--set ${other}=... is not asked here, only ${[...KEYS].join(" and ")}. Set it with: svc config set channels.forge_a.${other} <value>`);
  const address = host.given.server ?? before.host;
  if (address !== undefined && !/^https?:\/\/[^/?#\s@]+(\/[^?#\s]*)?$/.test(address))
    throw refuse(`'${address}' is no address of a forge: it begins with http:// or https:// and ends without a query`);
  const api = createApi(host, address ?? PUBLIC_HOST);
  const token = await host.secret(TOKEN);
  const project = await projectOf(host, api);
  const agent = await chosenAgent(host, document);
  host.say(`Asking ${api.origin} ...`);
  const login = await check(api, token.value, project);
  const secret = await host.keep(SECRET, randomBytes(24).toString("hex"));
  const hook = await hookOf(host, before.webhookPort ?? PORT);
  const routes: Route[] = [...(before.routes ?? []).filter((route) => route.project.toLowerCase() !== project.toLowerCase()), { project, agent }];
  const settings: ChannelSettings["settings"] = {
    enabled: true,
    ...(address === undefined ? {} : { host: address }),
    token: `\${${token.name}}`,
    webhookSecret: `\${${SECRET}}`,
    routes,
  };
  return { settings, next: nextOf(api, project, login, hook, secret) };
};
export default setUp;

async function projectOf({ given, ask }: SetupHost, { home }: Api): Promise<string> {
  const said = given.values.project ?? (await ask("Which project (group/project, * for all of the user's)?", { flag: "--set project=<group/project>" }));
  const text = said.trim();
  if (text === "*") return text;
  // People paste addresses.
  const path = (text.startsWith(`${home}/`) ? text.slice(home.length) : text).replace(/\/-\/.*$/, "").replace(/^\/+|\/+$|\.git$/g, "");
  if (!/^[\w.-]+(?:\/[\w.-]+)+$/.test(path)) throw refuse(`'${said}' is no project of ${home}: write its path, group/project, or * for all`);
  return path;
}

async function hookOf({ given, ask }: SetupHost, port: number): Promise<string> {
  const usual = `http://${hostname()}:${port}`;
  const address =
    given.values.address ?? (await ask("Under which address does the forge reach this machine?", { flag: "--set address=<url>", default: usual }));
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) throw refuse(`'${address}' is no address: it begins with http:// or https://`);
  return `${address.replace(/\/+$/, "")}/webhook/forge_a`;
}

/** Checks the user of the token, its write access, and that its user sees the project. Resolves with the name that people mention. */
async function check(api: Api, token: string, project: string): Promise<string> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const ask = async (path: string, accept: readonly number[] = []) => {
    try {
      return await api.call({ path, token, signal, accept });
    } catch (error) {
      throw refuse((error as { status?: number }).status === 401 ? `${api.origin} refuses the token: it is wrong, expired or revoked.` : reasonOf(error));
    }
  };
  const user = userOf((await ask("/user", [403])).body);
  // Older forges, and tokens of other kinds, say nothing of their scopes.
  const scopes = fieldsOf((await ask("/personal_access_tokens/self", [401, 403, 404])).body).scopes;
  if (user === undefined || (Array.isArray(scopes) && !scopes.includes("api")))
    throw refuse("The token has not the scope 'api', without which it cannot write comments. Make one with it, and repeat.");
  if (project === "*") return user.login;
  const seen = await ask(at("projects", project), [403, 404]);
  const id = numberOf(fieldsOf(seen.body).id);
  if (seen.status !== 200 || id === undefined)
    throw refuse(`@${user.login} does not see the project ${project}: is its path right? Else add the user to it, as Developer.`);
  const level = fieldsOf((await ask(at("projects", id, "members", "all", user.id), [403, 404])).body).access_level;
  if (typeof level !== "number" || level < GUEST)
    throw refuse(
      `@${user.login} is no member of ${textOf(fieldsOf(seen.body).path_with_namespace) || project}: add it there, as Developer, or as Reporter if it may only comment.`,
    );
  return user.login;
}

function nextOf({ home }: Api, project: string, login: string, hook: string, secret: string): string {
  const place = project === "*" ? "Settings, Webhooks of each project or group" : `${home}/${project}/-/hooks`;
  return [
    `Enter the webhook at the forge (${place}):`,
    `  URL           ${hook}`,
    `  Secret token  ${secret}`,
    "  Trigger       Comments, Confidential comments, Issues events, Merge request events",
    `Then mention @${login} in ${project === "*" ? "a project" : project}.`,
  ].join("\n");
}
