import type { PluginContext } from "@svc/sdk";
import type { Daemon } from "./daemon.ts";
import { fail } from "./errors.ts";
import { createOtherDaemon } from "./other-daemon.ts";
import { type DashboardSettings, THIS_DAEMON } from "./settings.ts";
import { createThisDaemon } from "./this-daemon.ts";

/** The daemons of a dashboard: `main` is the one behind it. */
export interface Daemons {
  readonly main: Daemon;
  /** `main` first. */
  readonly all: readonly Daemon[];
  /** The daemon of an address, `main` where none is given. Throws `SVC_DASHBOARD_NODE` for one that the configuration does not name (AUTH-21). */
  at(url: string | undefined): Daemon;
}

/** Makes the list of daemons that the dashboard shows: its own and the configured ones. */
export function createDaemons(ctx: PluginContext<DashboardSettings>): Daemons {
  const { daemonUrl, daemons } = ctx.config;
  const other = (name: string, url: string, token: string | undefined) => createOtherDaemon({ name, url, token, fetch: ctx.fetch });
  const entry = daemons.find(({ url }) => same(url, daemonUrl));
  const main = same(daemonUrl, THIS_DAEMON) ? createThisDaemon(ctx, daemonUrl) : other(entry?.name ?? new URL(daemonUrl).host, daemonUrl, entry?.token);
  const all = [main, ...daemons.filter((daemon) => daemon !== entry).map(({ name, url, token }) => other(name, url, token))];
  return {
    main,
    all,
    at(url) {
      if (url === undefined) return main;
      const found = all.find((daemon) => same(daemon.url, url));
      if (found === undefined) throw fail("SVC_DASHBOARD_NODE", { node: url, path: "node", field: "node" });
      return found;
    },
  };
}

/** One address, however its host is spelled and whether or not a slash ends it. */
function same(one: string, two: string): boolean {
  return URL.canParse(one) && URL.canParse(two) && new URL(one).href.replace(/\/+$/, "") === new URL(two).href.replace(/\/+$/, "");
}
