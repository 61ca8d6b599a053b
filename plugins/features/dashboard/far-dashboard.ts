import { type DashboardSettings, THIS_DAEMON } from "./settings.ts";

/** The dashboard of another daemon: where the requests of a page go that shows that daemon. */
export interface FarDashboard {
  readonly name: string;
  /** Of the daemon, as the configuration has it. */
  readonly daemonUrl: string;
  /** Of its dashboard, without a slash at the end. */
  readonly url: string;
  /** Lets us in there. */
  readonly token?: string;
}

/** Where a dashboard listens unless its daemon says otherwise. */
const PORT = "4202";

/** The dashboards of `daemons`, and that of `daemonUrl` where it is another daemon; that one first. */
export function farDashboards({ daemonUrl, daemons }: Pick<DashboardSettings, "daemonUrl" | "daemons">): readonly FarDashboard[] {
  const listed = daemons.map(({ name, url, dashboardUrl, dashboardToken }) => ({
    name,
    daemonUrl: url,
    url: withoutSlash(dashboardUrl ?? derived(url)),
    ...(dashboardToken === undefined || dashboardToken === "" ? {} : { token: dashboardToken }),
  }));
  if (withoutSlash(daemonUrl) === THIS_DAEMON) return listed;
  const main = listed.find((one) => withoutSlash(one.daemonUrl) === withoutSlash(daemonUrl));
  const first = main ?? { name: new URL(daemonUrl).host, daemonUrl, url: withoutSlash(derived(daemonUrl)) };
  return [first, ...listed.filter((one) => one !== main)];
}

/** The same host with the port of dashboards. */
function derived(url: string): string {
  const at = new URL(url);
  at.port = PORT;
  return at.origin;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");
