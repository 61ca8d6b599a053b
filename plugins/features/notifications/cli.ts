import { type CliHost, type CommandGroup, codeOf } from "@svc/sdk";
import { ALL_DEVICES, noChannel, OWN } from "./own-devices.ts";

/** Answer of the daemon. */
interface Sent {
  readonly channel: string;
}

const group: CommandGroup = {
  name: "notify",
  summary: "Send a notice to your phone or chat",
  commands: [
    {
      name: "notify",
      args: "<text...>",
      summary: "Send a notice: on notifications.channel, else on push, else on topicpush",
      options: [
        { flags: "--title <text>", description: "its title" },
        { flags: "--channel <name>", description: "another channel" },
        { flags: "--chat <id>", description: "the chat on it; of push and topicpush all devices" },
        { flags: "--account <name>", description: "the account to send from" },
        { flags: "--priority <n>", description: "1 (lowest) to 5, for channels that know urgency", number: { least: 1, most: 5 } },
      ],
      async run(words, { title, channel, chat, account, priority }, cli) {
        const given = Object.entries({ title, channel, chat, account, priority }).filter(([, value]) => value !== undefined);
        const sent = await send({ text: words.join(" "), ...Object.fromEntries(given) }, cli);
        cli.print(`The notice is on its way on ${sent.channel}.`, sent);
      },
    },
  ],
};
export default group;

async function send(body: Readonly<Record<string, unknown>>, cli: CliHost): Promise<Sent> {
  try {
    return (await cli.request("POST", "/notify", body)) as Sent;
  } catch (error) {
    if (codeOf(error) !== "SVC_HTTP_NOT_FOUND") throw error;
    return bare(body, cli);
  }
}

/** Without a section `notifications` the daemon has no route for it: sent as any message, on the channels that it would choose. */
async function bare({ text, title, channel, chat = ALL_DEVICES, account }: Readonly<Record<string, unknown>>, cli: CliHost): Promise<Sent> {
  const names = channel === undefined ? OWN : [String(channel)];
  for (const name of names) {
    const words = title === undefined ? text : `${title}\n${text}`;
    try {
      await cli.request("POST", "/send", { channel: name, chatId: chat, text: words, ...(account === undefined ? {} : { accountId: account }) });
      return { channel: name };
    } catch (error) {
      if (codeOf(error) !== "SVC_CHANNEL_UNKNOWN" || channel !== undefined) throw error;
    }
  }
  throw noChannel();
}
