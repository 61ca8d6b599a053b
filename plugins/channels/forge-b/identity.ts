import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf, type ForgeAgent, type ForgeProject, type ForgeUser, svcError } from "@svc/sdk";
import { type Api, at, type Credential } from "./api.ts";
import { type App, createApp, type Purpose, readKey } from "./app.ts";
import { userOf } from "./notes.ts";
import type { AgentMapping, Settings } from "./settings.ts";

/** Account that writes at the forge: the user of a token, or an App. */
export interface Identity {
  /** The setting that holds it; says nothing of the token. */
  readonly name: string;
  /** The same for the same token or App over restarts; says nothing of it. */
  readonly digest: string;
  readonly app?: App;
  /** Known once `identify` has resolved. */
  user?: ForgeUser;
  /** By which it is mentioned. */
  names: readonly string[];
  /** The forge refuses it: whose it is stays unknown until it takes it again. */
  refused?: boolean;
  /** False for an App that is installed nowhere: nothing can be asked in its name. */
  installed: boolean;
  /** Misleading configuration, for the log. */
  warning?: string;
  /** For calls in a repository, or without one about itself. */
  credential(project?: { readonly path: string; readonly id?: string }, purpose?: Purpose): Credential;
  /** Asks the forge who this is. */
  identify(api: Api, signal: AbortSignal): Promise<void>;
}

/** All identities of the section, and which agent has which. */
export interface Identities {
  readonly common?: Identity;
  readonly all: readonly Identity[];
  /** The tokens themselves: what must not stand in a comment. */
  readonly secrets: readonly string[];
  of(agent: string): Identity | undefined;
  /** Agents that may be mentioned there; without a project all of them. */
  agents(project?: Pick<ForgeProject, "path">): readonly ForgeAgent[];
}

const FILE = "SVC_FORGE_FILE";
/** The name of the App's identity: the setting that holds its key. */
const APP = "privateKeyFile";

async function lines(setting: string, file: string): Promise<string> {
  const path = resolve(file);
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw svcError(FILE, `channels.forge_b.${setting}: ${path} cannot be read: ${codeOf(error) ?? "no file"}`);
  }
}

/** The token itself, or the first line of its file, as it is at this start. */
async function tokenFrom({ token = "", tokenFile }: Pick<AgentMapping, "token" | "tokenFile">, place: string): Promise<string | undefined> {
  if (token !== "") return token;
  if (tokenFile === undefined) return undefined;
  const first = (await lines(`${place}tokenFile`, tokenFile)).split("\n")[0]?.trim() ?? "";
  if (first === "") throw svcError(FILE, `channels.forge_b.${place}tokenFile: the first line of ${resolve(tokenFile)} is empty; it is to hold the token`);
  return first;
}

/**
 * Reads keys and tokens, which are not read again. Throws naming setting and file where one cannot be read. `refused`: the forge takes the one of
 * that name no more.
 */
export async function createIdentities(settings: Settings, api: () => Api, refused: (name: string, reason: string) => void): Promise<Identities> {
  const { clientId, appId, privateKeyFile, routes = [], agentMappings = [], autoReplyLegacy = true } = settings;
  const issuer = clientId ?? appId;
  const secrets: string[] = [];
  let common: Identity | undefined;
  if (privateKeyFile !== undefined && issuer !== undefined) {
    const key = readKey(await lines("privateKeyFile", privateKeyFile), resolve(privateKeyFile));
    common = appIdentity(createApp({ api, issuer, key, refused: (reason) => refused(APP, reason) }), digestOf(`app ${issuer}`));
  } else {
    const token = await tokenFrom(settings, "");
    if (token !== undefined) secrets.push(token);
    if (token !== undefined) common = tokenIdentity("token", token, refused);
  }
  const own = new Map<AgentMapping, Identity>();
  for (const [index, mapping] of agentMappings.entries()) {
    const token = await tokenFrom(mapping, `agentMappings[${index}].`);
    if (token !== undefined) secrets.push(token);
    if (token !== undefined) own.set(mapping, tokenIdentity(`agentMappings[${index}].token`, token, refused));
  }
  const all = [...(common === undefined ? [] : [common]), ...own.values()];
  const mappingOf = (agent: string) => agentMappings.find(({ agentId }) => agentId === agent);
  const of = (agent: string) => {
    const mapping = mappingOf(agent);
    return (mapping && own.get(mapping)) ?? common;
  };

  const routed = (project: Pick<ForgeProject, "path"> | undefined): readonly string[] => {
    if (project === undefined) return routes.map(({ agent }) => agent);
    const path = project.path.toLowerCase();
    const route = routes.find(({ repo }) => repo.toLowerCase() === path) ?? routes.find(({ repo }) => repo === "*");
    return route === undefined ? [] : [route.agent];
  };

  function agentOf(agent: string, isRouted: boolean): readonly ForgeAgent[] {
    const identity = of(agent);
    if (identity === undefined) return [];
    const mapping = mappingOf(agent);
    const mentioned = [...(identity === common ? [] : [identity]), ...(isRouted && common !== undefined ? [common] : [])];
    const names = [...mentioned.flatMap((one) => one.names), ...(mapping?.forgeUsernames ?? [])];
    const users = all.filter(({ user }) => user !== undefined && user.id === identity.user?.id).length;
    return [
      {
        agent,
        names: [...new Set(names.map((name) => name.replace(/^@/, "")))],
        ...(identity.user === undefined ? {} : { user: identity.user }),
        ...(mentioned.some(({ names, refused }) => names.length === 0 && refused !== true) ? { pending: true } : {}),
        // The common token may be a person's own.
        shared: users > 1 || identity === common,
        token: identity.name,
        ...(mapping?.node === undefined ? {} : { node: mapping.node }),
        autoReply: autoReplyLegacy,
      },
    ];
  }

  return {
    ...(common === undefined ? {} : { common }),
    all,
    secrets,
    of,
    agents(project) {
      const here = new Set(routed(project));
      return [...new Set([...agentMappings.map(({ agentId }) => agentId), ...here])].flatMap((agent) => agentOf(agent, here.has(agent)));
    },
  };
}

const digestOf = (credential: string): string => createHash("sha256").update(`svc forge_b ${credential}`).digest("hex").slice(0, 24);

function tokenIdentity(name: string, token: string, refused: (name: string, reason: string) => void): Identity {
  const credential: Credential = {
    name,
    bearer: async () => `Bearer ${token}`,
    refused: (reason) => refused(name, `${reason}; check channels.forge_b.${name}`),
  };
  const identity: Identity = {
    name,
    digest: digestOf(token),
    names: [],
    installed: true,
    credential: () => credential,
    async identify(api, signal) {
      const user = userOf((await api.call({ path: "/user", as: credential, signal })).body);
      identity.user = user;
      identity.names = [user.login];
    },
  };
  return identity;
}

function appIdentity(app: App, digest: string): Identity {
  const identity: Identity = {
    name: APP,
    digest,
    app,
    names: [],
    installed: false,
    credential: (project, purpose = "notes") => (project === undefined ? app.itself : app.in(project, purpose)),
    async identify(api, signal) {
      const { slug } = (await api.call({ path: "/app", as: app.itself, signal })).body as { slug: string };
      identity.names = [slug];
      const installed = (await api.call({ path: "/app/installations", query: { per_page: 1 }, as: app.itself, signal })).body as readonly { id: number }[];
      const [first] = installed;
      identity.installed = first !== undefined;
      if (first === undefined) return;
      // Where the forge does not show its user, its marker alone tells its comments.
      const { status, body } = await api.call({ path: at("users", `${slug}[bot]`), as: app.anywhere(first.id), signal }, [404]);
      if (status === 200) identity.user = { ...userOf(body), bot: true };
      const { status: named } = await api.call({ path: at("users", slug), as: app.anywhere(first.id), signal }, [404]);
      if (named === 200) identity.warning = `a user of the forge is called @${slug}, like the App: who mentions the App tells that user too`;
    },
  };
  return identity;
}
