import type { CommandGroup } from "@svc/sdk";
import type { KnownChat, KnownContact } from "./ingest/directory.ts";
import type { SweepReport } from "./ingest/sweep.ts";
import type { Pairing } from "./pair-routes.ts";
import { talkThrough } from "./pairing-talk.ts";

const PAIR = "/channels/phonemsg/pair";

const group: CommandGroup = {
  name: "phonemsg",
  summary: "The linked phone: pair, unpair, its chats and contacts, ingest",
  commands: [
    {
      name: "pair",
      args: "",
      summary: "Link a phone: scan a picture, or with --number type a code",
      options: [
        { flags: "--number <number>", description: "link by a code for this phone number, with its country code, in place of a picture" },
        { flags: "--start", description: "begin and do not wait" },
      ],
      async run(_args, { number, start }, cli) {
        const begun = (await cli.request("POST", PAIR, number === undefined ? {} : { number: String(number) })) as Pairing;
        if (start === true) return cli.print("Pairing has begun; see it with: svc phonemsg status", begun);
        const linked = await talkThrough({
          look: async () => (await cli.request("GET", PAIR)) as Pairing,
          say: (text) => void process.stderr.write(`${text}\n`),
        });
        cli.print(`The phone ${linked} is linked.`, { state: "open", number: linked });
      },
    },
    {
      name: "unpair",
      args: "",
      summary: "Take this device off the phone; the old session is kept aside",
      options: [{ flags: "-y, --yes", description: "without asking" }],
      async run(_args, { yes }, cli) {
        const answer =
          yes === true
            ? "yes"
            : await cli.ask("Unlink the phone? Nobody is answered until another one is linked.", {
                flag: "--yes",
                choices: [
                  { id: "no", label: "No" },
                  { id: "yes", label: "Yes" },
                ],
                default: "no",
              });
        if (answer !== "yes") return cli.print("Nothing was changed.", { state: "unchanged" });
        const { kept } = (await cli.request("DELETE", PAIR)) as { kept: string };
        cli.print(`The phone is unlinked. The old session is kept in ${kept}; delete it when nobody needs it.`, { state: "unpaired", kept });
      },
    },
    {
      name: "status",
      args: "",
      summary: "Whether a phone is linked, and which",
      async run(_args, _options, cli) {
        const pairing = (await cli.request("GET", PAIR)) as Pairing;
        const { state, number, reason } = pairing;
        cli.print(state === "open" ? `Linked: ${number}` : `${state}${reason === undefined ? "" : `: ${reason}`}`, pairing);
      },
    },
    {
      name: "chats",
      args: "",
      summary: "Chats as they are remembered, newest first; the phone is not asked",
      async run(_args, _options, cli) {
        const { chats } = (await cli.request("GET", "/phonemsg/chats")) as { chats: readonly (Omit<KnownChat, "lastAt"> & { lastAt?: string })[] };
        const sorted = [...chats].sort((left, right) => (right.lastAt ?? "").localeCompare(left.lastAt ?? ""));
        cli.print(sorted.map(({ id, kind, name, lastAt }) => [kind, id, name ?? "", lastAt ?? ""].join("  ")).join("\n") || none("chats"), sorted);
      },
    },
    {
      name: "contacts",
      args: "",
      summary: "Contacts as they are remembered; the phone is not asked",
      async run(_args, _options, cli) {
        const { contacts } = (await cli.request("GET", "/phonemsg/contacts")) as { contacts: readonly KnownContact[] };
        const line = ({ id, number, saved, push }: KnownContact) =>
          [number === undefined ? id : `+${number}`, saved ?? "", push === undefined ? "" : `~${push}`].join("  ");
        cli.print(contacts.map(line).join("\n") || none("contacts"), contacts);
      },
    },
    {
      name: "ingest",
      args: "",
      summary: "Write allowed contacts, groups and messages into the workspace",
      options: [
        { flags: "--contact <number>", description: "only this person: a number or a saved name" },
        { flags: "--chat <id>", description: "only this chat: its id, a number or a group's name" },
        { flags: "--dry-run", description: "say what would be written, write nothing" },
        { flags: "--force", description: "write what has not changed, too" },
      ],
      async run(_args, { contact, chat, dryRun, force }, cli) {
        const report = (await cli.request("POST", "/phonemsg/ingest", {
          ...(contact === undefined ? {} : { contact: String(contact) }),
          ...(chat === undefined ? {} : { chat: String(chat) }),
          ...(dryRun === true ? { dryRun } : {}),
          ...(force === true ? { force } : {}),
        })) as SweepReport;
        cli.print(describe(report), report);
      },
    },
  ],
};
export default group;

const none = (what: string): string => `No ${what} are remembered. They are noted while channels.phonemsg.ingest.enabled is true.`;

function describe({ written, unchanged, skipped, purged, errors, entries, dryRun }: SweepReport): string {
  return [
    dryRun === true
      ? `Would write ${entries.length}; ${unchanged} unchanged, ${skipped} left out.`
      : `Written ${written}; ${unchanged} unchanged, ${skipped} left out${purged > 0 ? `, ${purged} old ones removed` : ""}.`,
    ...entries.map((name) => `  ${name}`),
    ...errors.map(({ chat, message }) => `error: ${chat === undefined ? "" : `${chat}: `}${message}`),
  ].join("\n");
}
