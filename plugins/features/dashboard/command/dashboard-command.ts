import type { CliHost, CommandGroup } from "@svc/sdk";

const group: CommandGroup = {
  name: "dashboard",
  summary: "Open the pages: of the running daemon, or of others",
  commands: [
    {
      name: "dashboard",
      args: "",
      summary: "Serve the pages from this program, for daemons that run here or elsewhere, and open them in the browser",
      options: [
        { flags: "--link", description: "no server of its own: a link that signs a browser in at the running daemon's dashboard" },
        { flags: "--daemon <url>", description: "the daemon to show; default dashboard.daemonUrl and dashboard.daemons of svc.json" },
        { flags: "--port <number>", description: "port of this program; default any free one", number: { least: 0, most: 65_535 } },
        { flags: "--no-open", description: "print the link only" },
      ],
      run: (_args, options, cli) => (options.link === true ? link(cli, options.open !== false) : alone(cli, options)),
    },
  ],
};
export default group;

/** A one-time link to the dashboard of the daemon that runs in this folder. */
async function link(cli: CliHost, opens: boolean): Promise<void> {
  const { url, expiresAt } = (await cli.request("POST", "/dashboard/link", {}).catch((error: unknown) => {
    if ((error as { status?: number }).status !== 404) throw error;
    const message = "This daemon serves no dashboard. Switch it on: svc config set dashboard.enabled true";
    throw Object.assign(new Error(message), { code: "SVC_DASHBOARD_OFF" });
  })) as { url: string; expiresAt: string };
  cli.print(`${url}\n\nThe link signs one browser in, once, before ${new Date(expiresAt).toLocaleTimeString()}.`, { url, expiresAt });
  if (opens) await open(url);
}

async function alone(cli: CliHost, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { serveAlone } = await import("./serve-alone.js");
  const { url, daemons, problem, closed } = await serveAlone(cli, {
    ...(typeof options.daemon === "string" ? { daemon: options.daemon } : {}),
    ...(typeof options.port === "number" ? { port: options.port } : {}),
  });
  const shown = daemons.map(({ name, url: at }) => `${name} (${at})`).join(", ");
  const note = problem === undefined ? "" : `\n${problem}`;
  cli.print(`${url}\n\nThe link signs one browser in, once. It shows ${shown}. Ctrl-C ends it.${note}`, { url, daemons, problem });
  if (options.open !== false) await open(url);
  await closed;
}

/** Where no browser can be opened, the link that was printed is there. */
async function open(url: string): Promise<void> {
  const { openBrowser } = await import("./open-browser.js");
  await openBrowser(url);
}
