import { type Forge, type ForgeCaller, type ForgeProject, type ForgeRight, type ForgeUser, type PluginContext, SIGNATURES } from "@svc/sdk";
import { changedNotes, LISTS } from "./backfill.ts";
import { type Api, type ApiAnswer, type ApiCall, at } from "./client.ts";
import { createComments, threadOf } from "./comments.ts";
import { readHook } from "./hook.ts";
import type { Identities } from "./identities.ts";
import type { Labels } from "./labels.ts";
import { downloadOf, mediaOf } from "./pictures.ts";
import { createRequests } from "./requests.ts";
import { PUBLIC_HOST, type Settings } from "./settings.ts";
import { fieldsOf, namesBot, numberOf, textOf, userOf, webAddress } from "./shapes.ts";

/** Parts of the adapter. */
export interface Parts {
  readonly api: Api;
  readonly identities: Identities;
  readonly labels: Labels;
}

/** A call in the name of an agent: a token that is refused is reported. */
export type Calling = (
  call: Omit<ApiCall, "token" | "signal"> & { readonly accept?: readonly number[] },
  as: ForgeCaller,
  signal: AbortSignal,
) => Promise<ApiAnswer>;

/** Levels of access: guests and reporters look and write words, developers change. */
const [GUEST, DEVELOPER] = [10, 30];
/** The forge's own limit is 1,000,000. */
const MAX_CHARS = 900_000;
/** Notes a minute: what a forge takes by default, and what the public one was seen to take. */
const [NOTES_PER_MINUTE, PUBLIC_PER_MINUTE] = [300, 60];

/** Grammar of `@name` on this forge: a group path is not a mention; a name may contain dots but not end with one. */
const GRAMMAR: Forge["grammar"] = {
  first: "A-Za-z0-9_.",
  rest: "A-Za-z0-9_.\\-",
  last: "A-Za-z0-9_\\-",
  notBefore: "/",
  notAfter: "_@/",
  suffixes: [".git", ".atom"],
  dotted: true,
  fencedQuotes: true,
};

/** The forge's API as the service `forges` asks for it. */
export function createForge(ctx: Pick<PluginContext<Settings>, "config" | "log">, { api, identities, labels }: Parts): Forge {
  const { config } = ctx;
  const call: Calling = async (given, as, signal) => {
    const token = identities.tokenOf(as.agent);
    try {
      return await api.call({ ...given, token, signal });
    } catch (error) {
      if ((error as { status?: number }).status === 401) identities.refused(token);
      throw error;
    }
  };
  let resolved: Promise<readonly ForgeProject[]> | undefined;

  /** A user with its name: a hook does not always say it. */
  async function named(user: ForgeUser, as: ForgeCaller, signal: AbortSignal): Promise<ForgeUser> {
    if (user.login !== "") return user;
    const { body } = await call({ path: at("users", user.id), accept: [404] }, as, signal);
    return userOf(body) ?? { ...user, login: `user-${user.id}` };
  }

  return {
    name: "forge_a",
    origin: api.origin,
    grammar: GRAMMAR,
    limits: { maxChars: MAX_CHARS, contentPerMinute: api.home === PUBLIC_HOST ? PUBLIC_PER_MINUTE : NOTES_PER_MINUTE },
    webhook: {
      schemes: [{ token: "x-gitlab-token" }, { token: "x-forge-token" }, SIGNATURES.standard],
      secrets: () => [config.webhookSecret ?? ""].filter((secret) => secret !== ""),
      setting: "channels.forge_a.webhookSecret",
      ...(config.webhookPort === undefined ? {} : { port: config.webhookPort }),
      deliveryId: (headers) =>
        ["idempotency-key", "webhook-id", "x-gitlab-event-uuid"].map((name) => headers[name]).find((value): value is string => typeof value === "string"),
    },
    lists: LISTS,
    read: (_headers, body) => readHook(body, api.home),
    agents: (project) => identities.agents(project),
    async isBot(user, signal) {
      const { body } = await api.call({ path: at("users", user.id), token: identities.anyToken(), signal, accept: [404] });
      const { bot } = fieldsOf(body);
      return typeof bot === "boolean" ? bot : namesBot(user.login);
    },
    async right(project, user, as, signal): Promise<ForgeRight> {
      const { status, body } = await call({ path: at("projects", project.id, "members", "all", user.id), accept: [404] }, as, signal);
      const { access_level: level, state } = fieldsOf(body);
      if (status === 404 || typeof level !== "number" || (state !== undefined && state !== "active")) return "none";
      return level >= DEVELOPER ? "write" : level >= GUEST ? "report" : "none";
    },
    async complete(note, as, signal) {
      const author = await named(note.author, as, signal);
      const editor = note.editor === undefined ? undefined : await named(note.editor, as, signal);
      const whole = { ...note, author, ...(editor === undefined ? {} : { editor }) };
      if (note.kind === "description" || note.place.thread !== undefined) return whole;
      const thread = await threadOf(note, api, identities.tokenOf(as.agent), signal);
      return thread === undefined ? undefined : { ...whole, place: { ...note.place, thread } };
    },
    ...createComments({ api, call, identities }),
    media: (note) => mediaOf(note, api.home),
    download: (handle, as, maxBytes, signal) => downloadOf(api, handle, identities.tokenOf(as.agent), maxBytes, signal),
    projects(signal) {
      resolved ??= resolveProjects(ctx, api, identities, signal).catch((error) => {
        resolved = undefined;
        throw error;
      });
      return resolved;
    },
    changed: (query, signal) => changedNotes({ api, identities }, query, signal),
    ...createRequests({ api, call, labels, identities }),
    secrets: () => identities.tokens(),
    url: (place, comment) => webAddress(api.home, place, comment),
  };
}

/** The projects that the routes name. */
async function resolveProjects(
  { config, log }: Pick<PluginContext<Settings>, "config" | "log">,
  api: Api,
  identities: Identities,
  signal: AbortSignal,
): Promise<readonly ForgeProject[]> {
  const paths = [...new Set((config.routes ?? []).map(({ project }) => project))].filter((path) => path !== "*");
  const found: ForgeProject[] = [];
  for (const path of paths) {
    const { status, body } = await api.call({ path: at("projects", path), token: identities.anyToken(), signal, accept: [403, 404] });
    const { id, path_with_namespace: whole, visibility } = fieldsOf(body);
    const number = numberOf(id);
    if (status === 200 && number !== undefined) found.push({ id: number, path: textOf(whole), private: visibility !== "public" });
    else log.warn({ project: path, status }, `channels.forge_a.routes names the project ${path}, which ${api.origin} does not show to the token`);
  }
  return found;
}
