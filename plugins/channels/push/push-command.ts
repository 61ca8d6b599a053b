import type { CliHost, CommandGroup } from "@svc/sdk";
import { dashboardAt, phonePage } from "./phone-page.ts";

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly service: string;
  readonly addedAt: number;
  readonly lastAt?: number;
  readonly lastError?: string;
  readonly stale?: true;
}

const group: CommandGroup = {
  name: "push",
  summary: "Phones that get notifications: add, list, remove",
  commands: [
    {
      name: "add",
      args: "",
      summary: "Show a code that adds one phone, as a picture to take with its camera",
      options: [{ flags: "--url <address>", description: "where the phone reaches the dashboard, such as https://svc.example.org" }],
      run: (_args, { url }, cli) => add(url as string | undefined, cli),
    },
    { name: "list", args: "", summary: "The phones, and how their last notice went", run: (_args, _options, cli) => list(cli) },
    { name: "remove", args: "<id>", summary: "Send a phone nothing more", run: ([id = ""], _options, cli) => remove(id, cli) },
  ],
};
export default group;

async function add(given: string | undefined, cli: CliHost): Promise<void> {
  const address = given ?? (await cli.ask("Where does the phone reach the dashboard?", { flag: "--url <address>" }));
  const base = dashboardAt(address);
  if (base === undefined)
    throw Object.assign(new Error(`'${address}' is no address of a dashboard: it looks like https://svc.example.org`), { code: "SVC_CLI_USAGE" });
  const { words, picture, page, code, expiresAt } = await phonePage(base, cli);
  cli.print(`${await picture(false)}\n\n${words}`, { page, code, expiresAt });
}

async function list(cli: CliHost): Promise<void> {
  const { devices } = (await cli.request("GET", "/push/devices")) as { devices: readonly Shown[] };
  const time = (at: number | undefined) => (at === undefined ? "never" : new Date(at).toISOString().slice(0, 16).replace("T", " "));
  const rows = devices.map(({ id, name, service, lastAt, lastError, stale }) =>
    [id, name, service, `last ${time(lastAt)}`, stale === true ? "open its page again: the keys have changed" : (lastError ?? "")].filter(Boolean).join("  "),
  );
  cli.print(rows.join("\n") || "No phone gets notices yet; add one with: svc push add", devices);
}

async function remove(id: string, cli: CliHost): Promise<void> {
  await cli.request("DELETE", `/push/devices/${encodeURIComponent(id)}`);
  cli.print(`${id} gets no more notices.`, { removed: id });
}
