import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import { type ChannelSettings, type ChannelSetup, chosenAgent, reasonOf, type SetupHost, svcError } from "@svc/sdk";
import { type Api, at, createApi, inRepository } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import { createIdentities, type Identity } from "./identity.ts";
import { PUBLIC_API, type Route, type Settings } from "./settings.ts";

const TOKEN = "FORGE_B_TOKEN";
const SECRET = "FORGE_B_WEBHOOK_SECRET";
const PORT = 18_810;
const CHECK_MS = 60_000;
/** Keys for `--set` beside settings of the section. */
const OWN = new Set(["repo", "address", "clientId", "privateKeyFile"]);

const wrong = (message: string) => svcError("SVC_FORGE_SETUP", message, { status: 400 });

/** `svc connect forge_b`: a token or an App, a repository and the agent that answers there, checked against the forge. */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const before = document.channels?.forge_b ?? {};
  const unknown = Object.keys(host.given.values).find((key) => !OWN.has(key));
  if (unknown !== undefined)
    throw wrong(`--set ${unknown}=... is not asked here; ${[...OWN].join(", ")} are. Other settings: svc config set channels.forge_b.${unknown} <value>`);
  const apiRoot = host.given.server ?? before.apiRoot;
  const who = await whoOf(host);
  const repo = await repositoryOf(host);
  const agent = await chosenAgent(host, document);
  const api = createApi(host, apiRoot ?? PUBLIC_API);
  host.say("Asking the forge who this is ...");
  const name = await check(api, who.checked, repo);

  const secret = await host.keep(SECRET, randomBytes(24).toString("hex"));
  const address = await addressOf(host, document);
  const routes: Route[] = [...(before.routes ?? []).filter((route) => route.repo.toLowerCase() !== repo.toLowerCase()), { repo, agent }];
  const settings: ChannelSettings["settings"] = {
    enabled: true,
    ...(apiRoot === undefined ? {} : { apiRoot }),
    ...who.written,
    webhookSecret: `\${${SECRET}}`,
    routes,
  };
  return { settings, next: nextOf(api, { app: who.checked.clientId !== undefined, name, repo, address, secret }) };
};
export default setUp;

/** Used part of svc.json; secrets are masked there. */
interface Document {
  readonly node?: { readonly defaultAgent?: string };
  readonly agents?: Readonly<Record<string, unknown>>;
  readonly channels?: { readonly forge_a?: { readonly webhookPort?: number }; readonly forge_b?: Settings };
}

interface Who {
  /** With the values, for the check. */
  readonly checked: Settings;
  /** As it stands in svc.json. */
  readonly written: Settings;
}

async function whoOf(host: SetupHost): Promise<Who> {
  const { values } = host.given;
  const asApp =
    values.clientId !== undefined ||
    values.privateKeyFile !== undefined ||
    (await host.ask("As whom does the agent write?", {
      flag: "--set clientId=<id> --set privateKeyFile=<file> for an App",
      choices: [
        { id: "token", label: "a user with a token: best a user of its own, whose name people mention" },
        { id: "app", label: "a GitHub App with its private key" },
      ],
      default: "token",
    })) === "app";
  if (!asApp) {
    const { name, value } = await host.secret(TOKEN);
    return { checked: { token: value }, written: { token: `\${${name}}` } };
  }
  const clientId = values.clientId ?? (await host.ask("The App's client id (Iv...)?", { flag: "--set clientId=<id>" }));
  const file = values.privateKeyFile ?? (await host.ask("The file with the App's private key (.pem)?", { flag: "--set privateKeyFile=<file>" }));
  const privateKeyFile = isAbsolute(file) ? file : join(host.folder, file);
  return { checked: { clientId, privateKeyFile }, written: { clientId, privateKeyFile } };
}

async function repositoryOf(host: SetupHost): Promise<string> {
  const repo = (host.given.values.repo ?? (await host.ask("Which repository (owner/repo, * for all)?", { flag: "--set repo=<owner/repo>" }))).trim();
  // People paste addresses.
  const [, owner, name] = /^(?:https?:\/\/[^/]+\/)?([\w.-]+)\/([\w.-]+?)(?:\.git)?\/?$/.exec(repo) ?? [];
  if (repo === "*") return repo;
  if (owner === undefined || name === undefined) throw wrong(`'${repo}' is no repository: write owner/repo, or * for all`);
  return `${owner}/${name}`;
}

async function addressOf({ given, ask }: SetupHost, { channels }: Document): Promise<string> {
  const port = channels?.forge_a?.webhookPort ?? PORT;
  const usual = `http://${hostname()}:${port}`;
  const address =
    given.values.address ?? (await ask("Under which address does the forge reach this machine?", { flag: "--set address=<url>", default: usual }));
  if (!/^https?:\/\/[^/\s]+/.test(address)) throw wrong(`'${address}' is no address: it begins with http:// or https://`);
  return `${address.replace(/\/+$/, "")}/webhook/forge_b`;
}

/** Asks the forge who this is, and whether it may do its work in the repository. Resolves with the name that people mention. */
async function check(api: Api, settings: Settings, repo: string): Promise<string> {
  const signal = AbortSignal.timeout(CHECK_MS);
  const { common } = await createIdentities(
    settings,
    () => api,
    () => {},
  );
  if (common === undefined) throw wrong("The token is empty.");
  try {
    await common.identify(api, signal);
  } catch (error) {
    throw wrong(
      answeredStatus(error) === 401
        ? `${api.origin} refuses ${common.app === undefined ? "the token" : "the App's key: is it the key of this client id?"}`
        : reasonOf(error),
    );
  }
  const name = common.names[0] ?? "";
  if (!common.installed)
    throw wrong(`The App ${name} is installed nowhere. Install it in ${repo === "*" ? "the repositories" : repo} (the App's page, Install App), and repeat.`);
  if (repo !== "*") await checkRepository(api, common, repo, signal);
  return name;
}

async function checkRepository(api: Api, identity: Identity, repo: string, signal: AbortSignal): Promise<void> {
  try {
    const { body } = await api.call({ path: inRepository(repo), as: identity.credential({ path: repo }), signal });
    const as = identity.credential({ path: repo, id: String((body as { id: number }).id) });
    await api.call({ path: inRepository(repo, "labels"), query: { per_page: 1 }, as, signal });
    if (identity.user !== undefined && identity.app === undefined)
      await api.call({ path: inRepository(repo) + at("collaborators", identity.user.login, "permission"), as, signal });
  } catch (error) {
    const status = answeredStatus(error);
    if (status === 404)
      throw wrong(
        identity.app === undefined
          ? `@${identity.names[0]} does not see ${repo}: invite it with the right to write, or give the token access to it`
          : `The App is not installed in ${repo}: install it there and repeat`,
      );
    if (status === 403) throw wrong(`@${identity.names[0]} may not do its work in ${repo}: it needs the right to write (${reasonOf(error)})`);
    throw wrong(reasonOf(error));
  }
}

function nextOf(api: Api, { app, name, repo, address, secret }: { app: boolean; name: string; repo: string; address: string; secret: string }): string {
  const place = app
    ? `the App's settings, Webhook`
    : repo === "*"
      ? "Settings, Webhooks, Add webhook of each repository"
      : `${api.home}/${repo}/settings/hooks/new`;
  return [
    `Enter the webhook at the forge (${place}):`,
    `  Payload URL   ${address}`,
    "  Content type  application/json",
    `  Secret        ${secret}`,
    "  Events        Issue comments, Issues, Pull requests, Pull request reviews, Pull request review comments, Commit comments",
    `Then mention @${name} in ${repo === "*" ? "a repository" : repo}.`,
  ].join("\n");
}
