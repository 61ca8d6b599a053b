import { resolve } from "node:path";
import { type ChannelSettings, type ChannelSetup, type Log, type SetupHost, svcError } from "@svc/sdk";
import { createConnection } from "./connection.ts";
import { pairingOf } from "./pair-routes.ts";
import { talkThrough } from "./pairing-talk.ts";
import { digitsOf, partsOf } from "./people.ts";
import { openSession, type Session } from "./session/session.ts";
import { SESSION_DIR, type Settings } from "./settings.ts";
import { loadVendor, type Vendor } from "./vendor.ts";

/** Used part of svc.json. */
interface Document {
  readonly node?: { readonly defaultAgent?: string };
  readonly agents?: Readonly<Record<string, unknown>>;
  readonly channels?: { readonly phonemsg?: Settings };
}

/** Keys for `--set`. */
const KEYS: ReadonlySet<string> = new Set(["allow", "number", "sessionDir"]);
const FLUSH_MS = 3_000;

const refuse = (message: string) => svcError("SVC_PHONEMSG_SETUP", message, { status: 400 });

/** `svc connect phonemsg`: the agent that answers, who may write, and the phone, linked here and now unless it is already. */
const setUp: ChannelSetup = async (host) => {
  const document = (await host.readSettings()).document as Document;
  const before = document.channels?.phonemsg ?? {};
  const { given } = host;
  const other = Object.keys(given.values).find((key) => !KEYS.has(key));
  if (other !== undefined)
    throw refuse(`--set ${other}=... is not asked here, only ${[...KEYS].join(", ")}. Set it with: svc config set channels.phonemsg.${other} <value>`);
  const server = given.server ?? before.server;
  if (server !== undefined && !/^wss?:\/\//.test(server)) throw refuse(`'${server}' is no address of a server: it begins with ws:// or wss://`);
  const agent = await agentOf(host, document);
  const allowFrom = await allowed(host, before);
  const sessionDir = given.values.sessionDir ?? before.sessionDir;
  const number = await link(host, resolve(host.folder, sessionDir ?? SESSION_DIR), server);
  const settings: ChannelSettings["settings"] = {
    enabled: true,
    defaultAgent: agent,
    allowFrom,
    ...(server === undefined ? {} : { server }),
    ...(given.values.sessionDir === undefined ? {} : { sessionDir: given.values.sessionDir }),
  };
  return { settings, next: `The phone ${number} is linked. Write to it from ${allowFrom[0]}; ${agent} answers.` };
};
export default setUp;

async function agentOf({ given, ask }: SetupHost, { agents = {}, node, channels }: Document): Promise<string> {
  const ids = Object.keys(agents);
  const fallback = channels?.phonemsg?.defaultAgent ?? node?.defaultAgent ?? ids[0];
  const agent =
    given.agent ??
    (ids.length < 2
      ? fallback
      : await ask("Which agent answers?", {
          flag: "--agent <id>",
          choices: ids.map((id) => ({ id, label: id })),
          ...(fallback === undefined ? {} : { default: fallback }),
        }));
  if (agent === undefined || !ids.includes(agent)) throw refuse(`there is no agent '${agent ?? ""}'; there are ${ids.join(", ") || "none"}`);
  return agent;
}

async function allowed({ given, ask }: SetupHost, { allowFrom = [] }: Settings): Promise<readonly string[]> {
  const before = allowFrom.join(", ");
  const said =
    given.values.allow ??
    (await ask("Who may write? Numbers with their country code, separated by commas", {
      flag: "--set allow=<numbers>",
      ...(before === "" ? {} : { default: before }),
    }));
  const list = said
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  const wrong = list.find((entry) => digitsOf(entry).length < 5 && !entry.includes("@"));
  if (list.length === 0 || wrong !== undefined)
    throw refuse(wrong === undefined ? "nobody may write: name at least one number" : `'${wrong}' is no phone number with its country code`);
  return list;
}

/** Links the phone in this process, so that it works with and without a daemon. */
async function link(host: SetupHost, folder: string, server: string | undefined): Promise<string> {
  const vendor = await loadVendor();
  const end = new AbortController();
  const session = await openSession(folder, vendor, { trouble: (reason) => reason !== undefined && host.say(reason), signal: end.signal });
  try {
    if (session.paired) return `+${partsOf(session.creds.me?.id ?? "").user}`;
    return await pair(host, vendor, session, server);
  } finally {
    end.abort();
    await session.close();
  }
}

async function pair(host: SetupHost, vendor: Vendor, session: Session, server: string | undefined): Promise<string> {
  const connection = createConnection({
    vendor,
    session,
    log: MUTE,
    ...(server === undefined ? {} : { server }),
    // Nothing is taken here: it is not acknowledged and comes to the daemon.
    hear: () => new Promise(() => {}),
    attend: () => {},
    sent: async () => undefined,
    settled: async () => {},
    newestVersion: async () => undefined,
    changed: () => {},
  });
  connection.pair(host.given.values.number === undefined ? undefined : digitsOf(host.given.values.number));
  connection.start();
  try {
    const number = await talkThrough({ look: async () => pairingOf(connection.link), say: (text) => host.say(text) });
    // The platform's first words to a new device are about its keys.
    await new Promise((done) => setTimeout(done, server === undefined ? FLUSH_MS : 0));
    return number;
  } finally {
    await connection.stop();
  }
}

const MUTE: Log = { debug() {}, info() {}, warn() {}, error() {} };
