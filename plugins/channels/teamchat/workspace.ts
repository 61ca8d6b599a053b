import { backoffMs, type PluginContext, reasonOf, sleep } from "@svc/sdk";
import { isLockedOut, refusalIn, wordsOf } from "./failure.ts";
import { createFiles, type Files } from "./files.ts";
import { createHearing, type Hearing } from "./hearing.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { createSent } from "./sent.ts";
import type { NamedWorkspace, Settings } from "./settings.ts";
import type { Envelope } from "./socket.ts";
import { createStreams } from "./streams.ts";
import { createWebApi, type WebApi } from "./web-api.ts";
import type { Me } from "./wire.ts";

/** Dependencies of one workspace. */
export interface WorkspaceDeps {
  readonly ctx: PluginContext<Settings>;
  readonly settings: NamedWorkspace;
  /** The agents that answer in some workspace. */
  readonly bound: ReadonlySet<string>;
  /** `state`, `reason` or `lacking` has changed. */
  changed(): void;
}

/** One workspace: our account there, receiving and sending. */
export interface Workspace {
  readonly settings: NamedWorkspace;
  readonly api: WebApi;
  readonly outbound: Outbound;
  readonly files: Files;
  readonly state: "connecting" | "usable" | "refused";
  readonly reason: string;
  /** Missing permissions despite a connection, each as a sentence with the next step. */
  readonly lacking: readonly string[];
  readonly me: Me | undefined;
  /** Asks who we are, until the platform says; then `start` resolves. */
  start(): Promise<void>;
  /** An envelope for this workspace; it is acknowledged when it is stored or rightly dropped. */
  take(envelope: Envelope, acknowledge: () => void, sideBySide: boolean): void;
  /** Its socket is open; with a gap what was missed is read. */
  opened(gap: boolean): void;
  stop(): Promise<void>;
}

const LONGEST_PAUSE_MS = 60_000;

/** Makes a workspace; it connects with `start`. */
export function createWorkspace({ ctx, settings, bound, changed }: WorkspaceDeps): Workspace {
  const { config, log } = ctx;
  const { name } = settings;
  const cut = new AbortController();
  const api = createWebApi(ctx, settings.botToken, config.apiRoot);
  const files = createFiles(ctx, api, settings.botToken);
  const streams = createStreams(api);
  const lacking: string[] = [];
  const working = new Set<Promise<void>>();
  let state: Workspace["state"] = "connecting";
  let reason = "not connected yet";
  let me: Me | undefined;
  let usableSince: number | undefined;
  let hearing: Hearing | undefined;

  const sent = createSent({ api, log, me: () => me, usableSince: () => usableSince });
  const rich = (agent: string | undefined) => ctx.agents.get(agent ?? settings.agentBinding)?.settings.richMessages !== false;
  const outbound = createOutbound({ api, files, sent, streams, rich: (out) => rich(out.agent), render: () => ctx.render });

  const turn = (next: Workspace["state"], why = "") => {
    if (state === next && reason === why) return;
    state = next;
    reason = why;
    changed();
  };

  const lacks = (words: string): void => {
    if (lacking.includes(words)) return;
    lacking.push(words);
    log.warn({ workspace: name }, words);
    changed();
  };

  async function identify(): Promise<void> {
    for (let failures = 1; !cut.signal.aborted; failures += 1) {
      try {
        const answer = await api.call<{ team_id: string; team?: string; user_id: string; user?: string; bot_id?: string }>(
          "auth.test",
          {},
          { signal: cut.signal },
        );
        const { team_id: team, team: teamName = team, user_id: user, user: handle = user, bot_id: botId = "" } = answer;
        // The token of an app begins with its id; the bot is as good a name where it does not.
        const app = /^xapp-\d+-(A[A-Z0-9]+)-/.exec(settings.appToken)?.[1] ?? user;
        me = { team, teamName, user, botId, name: handle, app };
        hearing = createHearing({ ctx, settings, bound, api, me, signal: cut.signal, lacks });
        usableSince = Date.now();
        turn("usable");
        return;
      } catch (error) {
        if (cut.signal.aborted) return;
        const { retryAfterMs } = error as { retryAfterMs?: number };
        const refusal = refusalIn(error);
        const words = refusal === undefined ? reasonOf(error) : wordsOf(refusal);
        if (failures === 1)
          log[isLockedOut(error) ? "error" : "warn"]({ workspace: name, reason: words }, "the platform does not say who we are; trying again");
        turn(isLockedOut(error) ? "refused" : "connecting", isLockedOut(error) ? `${words}; check ${settings.at}.botToken` : words);
        await sleep(retryAfterMs ?? backoffMs(failures, { firstMs: 500, longestMs: LONGEST_PAUSE_MS }), cut.signal);
      }
    }
  }

  return {
    settings,
    api,
    outbound,
    files,
    get state() {
      return state;
    },
    get reason() {
      return reason;
    },
    get lacking() {
      return lacking;
    },
    get me() {
      return me;
    },
    start: identify,
    take: (...taken) => hearing?.take(...taken),
    opened(gap) {
      if (hearing === undefined || !gap) return;
      const done = hearing.catchUp().finally(() => working.delete(done));
      working.add(done);
    },
    async stop() {
      cut.abort(new Error("stopped"));
      await Promise.all([hearing?.stop(), streams.close(), ...working]);
    },
  };
}
