import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type ChannelSettings, type ChannelSetup, type InstalledPlugin, type PluginContext, reasonOf, type SettingsReport, type SetupHost } from "@svc/sdk";
import { fail } from "../errors.ts";

/** Current question of a channel's set-up. */
export interface SetupQuestion {
  /** Number of the question: an answer names it, so that none is answered twice. */
  readonly number: number;
  readonly text: string;
  /** A credential: typed unseen and kept in `.env` under this name. */
  readonly secret?: true;
  /** The credential has a value already; an empty answer keeps it. */
  readonly kept?: true;
  readonly choices?: readonly { readonly id: string; readonly label: string }[];
  readonly usual?: string;
}

/** State of a set-up. Contains no credential. */
export interface SetupView {
  readonly id: string;
  readonly channel: string;
  readonly state: "working" | "asking" | "done" | "failed";
  /** Output so far. */
  readonly said: readonly string[];
  readonly question?: SetupQuestion;
  readonly error?: string;
  /** Instructions for the person at the platform. */
  readonly next?: string;
  readonly report?: SettingsReport;
}

interface Talk {
  view: SetupView;
  answer?: (value: string) => void;
  readonly end: AbortController;
  readonly by: string;
}

/** Set-ups of channels that ask by themselves, walked by a person in a browser: each lives as long as this daemon does, and writes only at its end. */
export interface ChannelSetups {
  /** Begins one for an installed channel. Throws `SVC_DASHBOARD_SETUP_TERMINAL` for one whose code may only run in a terminal. */
  begin(plugin: InstalledPlugin, name: string, given: { readonly server?: string }, by: string): SetupView;
  /** Throws `SVC_DASHBOARD_SETUP_UNKNOWN`. */
  look(id: string): SetupView;
  /** Throws `SVC_DASHBOARD_SETUP_ANSWERED` for a question that is not asked any more. */
  answer(id: string, number: number, value: string): SetupView;
  /** Nothing was written. */
  end(id: string): void;
}

/** A person who has gone is waited for that long. */
const PATIENCE_MS = 15 * 60_000;
const MOST = 8;
const MOST_SAID = 200;

/** Whether the set-up may run in this process: our own code, or code that the daemon runs in it anyway. */
export const runsHere = ({ source, state, isolation, folder, manifest }: InstalledPlugin): boolean =>
  manifest?.connect?.module !== undefined && folder !== undefined && (source === "first-party" || (state === "running" && isolation === undefined));

/** Makes the set-ups of one dashboard. */
export function createChannelSetups(ctx: Pick<PluginContext, "settings" | "fetch" | "env" | "signal">): ChannelSetups {
  const talks = new Map<string, Talk>();

  const find = (id: string): Talk => {
    const talk = talks.get(id);
    if (talk === undefined) throw fail("SVC_DASHBOARD_SETUP_UNKNOWN");
    return talk;
  };

  const ask = (talk: Talk, question: Omit<SetupQuestion, "number">): Promise<string> =>
    new Promise((resolve, reject) => {
      const number = (talk.view.question?.number ?? 0) + 1;
      const late = setTimeout(() => talk.end.abort(), PATIENCE_MS).unref();
      const stop = () => reject(new Error("Nobody answered; nothing was written."));
      talk.end.signal.addEventListener("abort", stop, { once: true });
      talk.view = { ...talk.view, state: "asking", question: { number, ...question } };
      talk.answer = (value) => {
        clearTimeout(late);
        talk.end.signal.removeEventListener("abort", stop);
        delete talk.answer;
        talk.view = { ...talk.view, state: "working" };
        resolve(value);
      };
    });

  function hostOf(talk: Talk, given: { readonly server?: string }, secrets: Map<string, string>): SetupHost {
    return {
      // Sessions of linked devices are made by their own plugin, which knows the folder.
      get folder(): string {
        throw fail("SVC_DASHBOARD_SETUP_TERMINAL", { channel: talk.view.channel });
      },
      given: { ...given, values: {} },
      fetch: ctx.fetch,
      readSettings: () => ctx.settings.read(),
      ask: (text, { choices, default: usual }) =>
        ask(talk, { text, ...(choices === undefined ? {} : { choices }), ...(usual === undefined ? {} : { usual }) }).then((said) => said || (usual ?? "")),
      say(text) {
        talk.view = { ...talk.view, said: [...talk.view.said, text].slice(-MOST_SAID) };
      },
      async secret(name) {
        const before = secrets.get(name) ?? ctx.env(name) ?? "";
        const said = (await ask(talk, { text: name, secret: true, ...(before === "" ? {} : { kept: true }) })).trim();
        if (said !== "") secrets.set(name, said);
        return { name, value: said === "" ? before : said };
      },
      async keep(name, value) {
        const before = ctx.env(name) ?? "";
        if (before === "") secrets.set(name, value);
        return before === "" ? value : before;
      },
    };
  }

  /** Credentials first: a setting that names a variable without a value would be refused. */
  async function write(section: string, settings: ChannelSettings["settings"], secrets: ReadonlyMap<string, string>, by: string): Promise<SettingsReport> {
    for (const [name, value] of secrets) await ctx.settings.keepSecret({ name, value }, { by });
    const edits = Object.entries(settings).map(([key, value]) => ({
      path: [...section.split("."), key],
      value,
      ...(/\$\{[A-Za-z_]\w*\}/.test(JSON.stringify(value)) ? { reference: true as const } : {}),
    }));
    return ctx.settings.change(edits, { by, backup: true });
  }

  async function run(talk: Talk, { folder, manifest }: InstalledPlugin, section: string, given: { readonly server?: string }): Promise<void> {
    const secrets = new Map<string, string>();
    try {
      const file = join(folder ?? "", manifest?.connect?.module ?? "");
      const { default: setUp } = (await import(pathToFileURL(file).href)) as { default: ChannelSetup };
      const { settings, next } = await setUp(hostOf(talk, given, secrets));
      if (talk.end.signal.aborted) return;
      const report = await write(section, settings, secrets, talk.by);
      const words = typeof next === "function" ? await next(undefined).catch(reasonOf) : next;
      const { question: _, ...view } = talk.view;
      talk.view = { ...view, state: "done", report, ...(words === undefined ? {} : { next: words }) };
    } catch (error) {
      const { question: _, ...view } = talk.view;
      talk.view = { ...view, state: "failed", error: reasonOf(error) };
    }
  }

  return {
    begin(plugin, name, given, by) {
      if (!runsHere(plugin)) throw fail("SVC_DASHBOARD_SETUP_TERMINAL", { channel: name });
      // The oldest one is given up: its page was closed, or has ended.
      const [oldest] = talks.keys();
      if (talks.size >= MOST && oldest !== undefined) this.end(oldest);
      const talk: Talk = { view: { id: randomUUID(), channel: name, state: "working", said: [] }, end: new AbortController(), by };
      ctx.signal.addEventListener("abort", () => talk.end.abort(), { once: true, signal: talk.end.signal });
      talks.set(talk.view.id, talk);
      void run(talk, plugin, plugin.manifest?.section ?? `channels.${name}`, given);
      return talk.view;
    },
    look: (id) => find(id).view,
    answer(id, number, value) {
      const talk = find(id);
      if (talk.answer === undefined || talk.view.question?.number !== number) throw fail("SVC_DASHBOARD_SETUP_ANSWERED");
      talk.answer(value);
      return talk.view;
    },
    end(id) {
      talks.get(id)?.end.abort();
      talks.delete(id);
    },
  };
}
