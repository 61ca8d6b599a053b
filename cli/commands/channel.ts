import type { ChannelStatus, Health } from "@svc/kernel";
import type { ChannelTraits } from "@svc/sdk";
import { productName } from "../catalog.ts";
import { openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { ago, table } from "../table.ts";

const group: OwnGroup = {
  name: "channel",
  summary: "Channels: their state, who we are there, who may write, sending",
  commands: [
    { name: "list", anywhere: true, args: "", summary: "The channels, and how each one stands now", run: (_args, _options, cli) => list(cli) },
    {
      name: "test",
      anywhere: true,
      args: "<name>",
      summary: "Ask a channel's platform who we are; nothing is sent to anybody",
      async run([name], _options, cli) {
        const { detail } = (await cli.request("POST", `/channels/${encodeURIComponent(name as string)}/test`)) as { detail: string };
        cli.print(`${name}: ${detail}`, { ok: true, channel: name, detail });
      },
    },
    {
      name: "pair",
      args: "[code]",
      summary: "Confirm the person who was given the code; without one: who waits for it",
      options: [{ flags: "--channel <name>", description: "the channel they write on (default: botmsg)" }],
      run: ([code], { channel = "botmsg" }, cli) => pair(cli, String(channel), code),
    },
    {
      name: "send",
      anywhere: true,
      args: "<channel> <chat> <text...>",
      summary: "Send a message; a chat that begins with a minus goes after --",
      options: [
        { flags: "--account <name>", description: "the account to send from" },
        { flags: "--agent <id>", description: "the agent in whose name it is sent" },
      ],
      async run([channel, chatId, ...words], { account, agent }, cli) {
        const body = { channel, chatId, text: words.join(" "), ...(account ? { accountId: account } : {}), ...(agent ? { agentId: agent } : {}) };
        const sent = (await cli.request("POST", "/send", body)) as { messageId: string };
        cli.print(sent.messageId, sent);
      },
    },
  ],
};

export default group;

interface Row {
  readonly name: string;
  readonly plugin: string;
  readonly state: ChannelStatus["state"] | "failed" | "enabled" | "disabled";
  readonly reason?: string;
  readonly traits?: ChannelTraits;
  readonly unsent?: number;
}

async function list(cli: Cli): Promise<void> {
  let rows: Row[];
  try {
    rows = await running(cli);
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    rows = await configured(cli);
    if (!cli.json) cli.say("(the daemon is not running; this is what svc.json says)");
  }
  const cells = rows.map(({ name, plugin, state, reason, traits, unsent }) => [
    name,
    productName("channel", plugin.replace(/^channel-/, ""), cli.dataFolder),
    state,
    unsent === undefined ? "-" : String(unsent),
    [...(traits === undefined ? [] : [describeTraits(traits)]), ...(reason === undefined ? [] : [reason])].join("; "),
  ]);
  const none = "There are no channels; set one up with: svc connect <channel>";
  cli.print(rows.length === 0 ? none : table([["NAME", "PLUGIN", "STATE", "UNSENT", "WHAT"], ...cells]), rows);
}

/** Returns the live channels, and those whose plugin failed: a broken channel must not look like one that was never set up. */
async function running(cli: Cli): Promise<Row[]> {
  const [{ channels }, { plugins }] = (await Promise.all([cli.request("GET", "/channels"), cli.request("GET", "/health")])) as [
    { channels: ChannelStatus[] },
    Health,
  ];
  const broken = plugins.filter(({ id, state }) => id.startsWith("channel-") && (state === "failed" || state === "quarantined"));
  return [
    ...channels,
    ...broken.map(({ id, reason }): Row => ({ name: id.slice("channel-".length), plugin: id, state: "failed", ...(reason === undefined ? {} : { reason }) })),
  ];
}

async function configured(cli: Cli): Promise<Row[]> {
  const sections = ((await openFile(cli)).get("channels") ?? {}) as Record<string, { enabled?: boolean }>;
  return Object.entries(sections).map(([name, { enabled }]) => ({ name, plugin: `channel-${name}`, state: enabled === true ? "enabled" : "disabled" }));
}

function describeTraits({ maxChars, unit, editIntervalMs, threads, reactions, maxMediaBytes }: ChannelTraits): string {
  const size = { codepoint: "characters", utf16: "UTF-16 units", utf8: "bytes" }[unit];
  const can = [
    ...(editIntervalMs === undefined ? [] : ["edits"]),
    ...(threads ? ["threads"] : []),
    ...(reactions ? ["reactions"] : []),
    ...(maxMediaBytes === undefined ? [] : [`files up to ${Math.round(maxMediaBytes / 1_048_576)} MiB`]),
  ];
  return [`${maxChars} ${size} a message`, ...can].join(", ");
}

interface Paired {
  readonly account: string;
  readonly sender: string;
  readonly name?: string;
}

async function pair(cli: Cli, channel: string, code: string | undefined): Promise<void> {
  const path = `/channels/${encodeURIComponent(channel)}/pair`;
  const who = ({ account, sender, name }: Paired) => `${name === undefined ? sender : `${name} (${sender})`} on the account ${account}`;
  try {
    if (code !== undefined) {
      const paired = (await cli.request("POST", path, { code })) as Paired;
      cli.print(`Confirmed: ${who(paired)}.`, paired);
      return;
    }
    const { waiting } = (await cli.request("GET", path)) as { waiting: (Paired & { at: string })[] };
    const rows = waiting.map(({ account, sender, name = "", at }) => [account, sender, name, `${ago(Date.now() - Date.parse(at))} ago`]);
    cli.print(rows.length === 0 ? "Nobody waits to be confirmed." : table([["ACCOUNT", "SENDER", "NAME", "SINCE"], ...rows]), waiting);
    if (rows.length > 0 && !cli.json) cli.say("Each of them was given a code; confirm it with: svc channel pair <code>");
  } catch (error) {
    // The route is the channel's own: a channel that is off, or has no pairing, does not serve it.
    if ((error as { code?: string }).code !== "SVC_HTTP_NOT_FOUND") throw error;
    throw fail("SVC_CLI_MISSING", { what: `running channel ${channel} that pairs people`, next: "svc channel list" });
  }
}
