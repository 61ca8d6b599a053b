import { type Channel, type ChannelHandle, channelError, type PluginContext, type Target } from "@svc/sdk";
import { type App, createApp } from "./app.ts";
import { checkWorkspace } from "./check.ts";
import { teamsOf } from "./map.ts";
import { type Settings, whyDeaf, workspacesOf } from "./settings.ts";
import { createSocket, type Envelope, type Socket } from "./socket.ts";
import { tokensProblem } from "./tokens.ts";
import type { EventPayload, PressPayload } from "./wire.ts";
import { createWorkspace, type Workspace } from "./workspace.ts";

/** All workspaces together: what the channel's members do once it has started. */
export interface Client extends Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "fetchMedia" | "test">> {
  start(): void;
  stop(): Promise<void>;
}

/** Makes the client of all configured workspaces; it connects with `start`. */
export function createClient(ctx: PluginContext<Settings>, handle: ChannelHandle): Client {
  const { config, log } = ctx;
  const workspaces = new Map<string, Workspace>();
  const apps: App[] = [];
  /** Workspaces that are configured and cannot be used, with the reason. */
  const unused = new Map<string, string>();
  const starting: Promise<void>[] = [];
  /** Connections that have been open. */
  const opened = new Set<Socket>();

  const configured = workspacesOf(config);
  const bound = new Set(configured.map(({ agentBinding }) => agentBinding));
  const byApp = new Map<string, Workspace[]>();
  for (const settings of configured) {
    const { name, at, botToken, appToken } = settings;
    const twin = [...workspaces.values()].find((one) => one.settings.botToken === botToken)?.settings.name;
    const problem = tokensProblem(settings);
    const why = problem !== undefined ? `${at}.${problem.key} ${problem.words}` : twin === undefined ? undefined : `it has the same botToken as ${twin}`;
    if (why !== undefined) {
      unused.set(name, why);
      log.error({ workspace: name }, `workspace ${name} is not used: ${why}`);
      continue;
    }
    const workspace = createWorkspace({ ctx, settings, bound, changed: tellState });
    workspaces.set(name, workspace);
    byApp.set(appToken, [...(byApp.get(appToken) ?? []), workspace]);
  }
  for (const [appToken, served] of byApp) apps.push(appOf(appToken, served));

  function appOf(appToken: string, served: readonly Workspace[]): App {
    const [first] = served as [Workspace];
    const name = served.map(({ settings }) => settings.name).join(", ");
    const make = () =>
      createSocket({
        ctx,
        api: first.api,
        appToken,
        name,
        heard: (envelope, acknowledge, sideBySide) => route(envelope, acknowledge, sideBySide, served),
        opened: (gap) => {
          for (const workspace of served) workspace.opened(gap);
        },
        changed: tellState,
      });
    return createApp(ctx, served, make, tellState);
  }

  /** To the workspace that it is for. One that is not configured here hears nothing of it, and is not offered it again. */
  function route(envelope: Envelope, acknowledge: () => void, sideBySide: boolean, served: readonly Workspace[]): void {
    const payload = envelope.payload as (EventPayload & PressPayload) | undefined;
    const teams = envelope.type === "interactive" ? [payload?.team?.id ?? ""] : teamsOf(payload ?? {});
    const meant = served.find(({ me }) => me !== undefined && teams.includes(me.team));
    if (meant !== undefined) meant.take(envelope, acknowledge, sideBySide);
    // While one of them is not known yet, it may be its own.
    else if (served.every(({ me }) => me !== undefined)) acknowledge();
  }

  /** The channel is up when one workspace is, and says why when none is, and what does not work. */
  function tellState(): void {
    const said: string[] = [...unused].map(([name, why]) => `${name}: ${why}`);
    let usable = false;
    for (const { socket, note: standing, workspaces: served } of apps) {
      for (const workspace of served) {
        const { settings, state, reason, lacking } = workspace;
        const call = (words: string) => (configured.length === 1 ? words : `${settings.name}: ${words}`);
        // While a lost connection is being restored, messages can be sent.
        if (socket.state === "open") opened.add(socket);
        if (state === "usable" && socket.state !== "refused" && (standing !== undefined || opened.has(socket))) usable = true;
        if (state !== "usable") said.push(call(reason));
        else if (socket.state !== "open") said.push(call(standing ?? socket.reason));
        const deaf = whyDeaf(settings);
        if (deaf !== undefined) said.push(call(deaf));
        said.push(...lacking.map(call));
      }
    }
    const note = said.length === 0 ? undefined : said.join("; ");
    if (usable) handle.ready(note);
    else handle.down(note ?? "no workspace is configured");
  }

  const workspaceOf = ({ account }: Pick<Target, "account">): Workspace => {
    const found = account === undefined ? workspaces.values().next().value : workspaces.get(account);
    if (found === undefined) throw channelError("permanent", `channels.teamchat has no usable workspace '${account ?? ""}'`);
    if (found.state === "refused") throw channelError("retry", found.reason);
    return found;
  };

  return {
    start() {
      if (workspaces.size === 0) tellState();
      for (const app of apps) {
        for (const workspace of app.workspaces) {
          const known = workspace.start().then(() => {
            if (workspace.me === undefined) return;
            // The socket may have been opened for another workspace of the app.
            if (app.socket.state === "open") workspace.opened(true);
            else app.listen(workspace.me.app);
          });
          starting.push(known);
        }
      }
    },
    async stop() {
      await Promise.all(apps.flatMap((app) => [app.stop(), ...app.workspaces.map((workspace) => workspace.stop())]));
      await Promise.allSettled(starting);
    },
    send: async (out, signal) => ({ platformId: await workspaceOf(out.target).outbound.send(out, signal) }),
    edit: async (platformId, out, signal) => workspaceOf(out.target).outbound.edit(platformId, out, signal),
    remove: async (target, platformId, signal) => workspaceOf(target).outbound.remove(target, platformId, signal),
    react: async (target, platformId, emoji, signal) => workspaceOf(target).outbound.react(target, platformId, emoji, signal),
    async fetchMedia({ handle: file = "", type }, signal) {
      const at = file.lastIndexOf("/");
      const { data, type: told } = await workspaceOf({ account: file.slice(0, at) }).files.fetch(file.slice(at + 1), signal);
      const kind = type ?? told;
      return { data, ...(kind === undefined ? {} : { type: kind }) };
    },
    /** Every workspace must be one that the platform knows: one that works does not hide one that does not. */
    test: (signal) => testAll([...workspaces.values()], unused, signal),
  };
}

/** Every workspace is asked who we are, and its app whether it may connect. */
async function testAll(workspaces: readonly Workspace[], unused: ReadonlyMap<string, string>, signal: AbortSignal): Promise<string> {
  const asked = await Promise.all(
    workspaces.map(async ({ settings, api }) => {
      const { who, problems } = await checkWorkspace(api, settings.appToken, signal);
      return { ok: problems.length === 0, text: `${settings.name}: ${[...(who === undefined ? [] : [who]), ...problems].join("; ")}` };
    }),
  );
  const fine = asked.filter(({ ok }) => ok).map(({ text }) => text);
  const wrong = [...asked.filter(({ ok }) => !ok).map(({ text }) => text), ...[...unused].map(([name, why]) => `${name}: ${why}`)];
  if (wrong.length > 0) throw channelError("permanent", [...wrong, ...fine].join("; "));
  if (fine.length === 0) throw channelError("permanent", "no workspace is configured");
  return fine.join(", ");
}
