import { type ChannelSetup, type SetupHost, svcError } from "@svc/sdk";
import { dashboardAt, phonePage } from "./phone-page.ts";
import { PUSH } from "./settings.ts";

/** Used part of svc.json. */
interface Document {
  readonly dashboard?: { readonly enabled?: boolean };
  readonly mesh?: { readonly peers?: readonly { readonly name: string }[] };
  readonly channels?: { readonly push?: { readonly subject?: string; readonly relayTo?: string } };
}

/** Keys for `--set`. */
const KEYS: ReadonlySet<string> = new Set(["subject", "url", "relayTo"]);
const SUBJECT = new RegExp(PUSH.properties?.["subject"]?.pattern as string);

const refuse = (message: string) => svcError("SVC_PUSH_SETUP", message, { status: 400 });

/**
 * `svc connect push`: whom push services can ask, where phones reach the page, and that page as a picture, with a code for one phone. With
 * `--set relayTo=<peer>` the peer has the phones, and there is nothing more to do here.
 */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const { values } = host.given;
  const other = Object.keys(values).find((key) => !KEYS.has(key));
  if (other !== undefined)
    throw refuse(`--set ${other}=... is not asked here, only ${[...KEYS].join(", ")}. Set it with: svc config set channels.push.${other} <value>`);
  const relayTo = values["relayTo"] ?? document.channels?.push?.relayTo;
  if (relayTo !== undefined) return through(relayTo, document);
  if (document.dashboard?.enabled !== true)
    throw refuse("the page for phones is served by the dashboard, which is off; switch it on first: svc config set dashboard.enabled true");
  const subject = await subjectOf(host, document.channels?.push?.subject);
  const said = values["url"] ?? (await host.ask("Where do phones reach the dashboard, such as https://svc.example.org?", { flag: "--set url=<address>" }));
  const base = dashboardAt(said);
  if (base === undefined) throw refuse(`'${said}' is no address of a dashboard: it looks like https://svc.example.org`);
  return {
    settings: { enabled: true, subject },
    async next(daemon) {
      if (daemon === undefined) return `Once the daemon runs, add a phone with: svc push add --url ${base}`;
      const { picture, words } = await phonePage(base, daemon);
      host.say(await picture(true));
      return words;
    },
  };
};
export default setUp;

async function subjectOf({ given, ask }: SetupHost, before: string | undefined): Promise<string> {
  const said =
    given.values["subject"] ??
    (await ask("Whom can a push service ask about this daemon? An e-mail address of yours, or an https address", {
      flag: "--set subject=<mailto:address>",
      ...(before === undefined ? {} : { default: before }),
    }));
  const subject = /^[^@\s:]+@[^@\s]+$/.test(said) ? `mailto:${said}` : said;
  if (!SUBJECT.test(subject)) throw refuse(`'${said}' is neither an e-mail address nor an https address`);
  return subject;
}

function through(relayTo: string, { mesh }: Document) {
  const peers = (mesh?.peers ?? []).map(({ name }) => name);
  if (!peers.includes(relayTo))
    throw refuse(`there is no peer '${relayTo}' in mesh.peers; there ${peers.length === 0 ? "is none" : `are ${peers.join(", ")}`}`);
  return { settings: { enabled: true, relayTo }, next: `Notices go through ${relayTo}; phones are added there: svc connect push.` };
}
