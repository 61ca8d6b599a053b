import { dirname, resolve } from "node:path";
import { type Channel, type ChannelHandle, channelError, onAbort, type PluginContext, standbyNote, whileHeld } from "@svc/sdk";
import type { WASocket } from "@whiskeysockets/baileys";
import { type Connection, createConnection, type Link } from "./connection.ts";
import { createInbound } from "./inbound.ts";
import { createDirectory, type Directory } from "./ingest/directory.ts";
import { createHistory, type History } from "./ingest/history.ts";
import { notConnected } from "./ingest/phone-reader.ts";
import { download, upload } from "./media.ts";
import { createOutbound } from "./outbound.ts";
import { createPeople, type People, partsOf } from "./people.ts";
import { createSent } from "./sent.ts";
import { openSession } from "./session/session.ts";
import { agentsOf, SESSION_DIR, type Settings } from "./settings.ts";
import { loadVendor, type Vendor } from "./vendor.ts";

/** Implementation of the channel once it has started. */
export interface Client extends Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "typing" | "fetchMedia" | "test">> {
  readonly connection: Connection;
  readonly directory: Directory;
  readonly history: History;
  readonly people: People;
  readonly vendor: Vendor;
  /** Returns the connection, or throws the reason why there is none. */
  socket(): WASocket;
  stop(): Promise<void>;
}

/** Where the pairing is kept: relative paths start where svc.json lies. */
export const sessionFolder = (dataFolder: string, { sessionDir = SESSION_DIR }: Settings): string => resolve(dirname(dataFolder), sessionDir);

/** Opens the session and the connection. Throws `SVC_PHONEMSG_SESSION_BUSY` where another process uses the session. */
export async function openClient(ctx: PluginContext<Settings>, handle: ChannelHandle): Promise<Client> {
  const { config, log } = ctx;
  const vendor = await loadVendor();
  const cut = new AbortController();
  let link: Link = { state: "connecting", reason: "not connected yet" };
  let writeTrouble: string | undefined;
  const session = await openSession(sessionFolder(ctx.files.data.roots[0] as string, config), vendor, { trouble, signal: cut.signal });

  const tell = () => {
    if (writeTrouble !== undefined) handle.down(writeTrouble);
    else if (link.state === "open") handle.ready((config.allowFrom ?? []).length === 0 ? "hears nobody: channels.phonemsg.allowFrom is not set" : undefined);
    else handle.down(link.state === "pairing" ? "waits for a phone to link it: svc phonemsg pair" : link.reason);
  };
  function trouble(reason: string | undefined): void {
    if (reason !== undefined && writeTrouble === undefined) log.error({}, reason);
    writeTrouble = reason;
    tell();
  }

  const socket = (): WASocket => {
    if (link.state === "open") return link.socket;
    throw channelError("retry", link.state === "pairing" ? "no phone is linked yet" : link.reason);
  };
  const people = createPeople(ctx, async (hidden) =>
    link.state === "open" ? ((await link.socket.signalRepository.lidMapping.getPNForLID(hidden)) ?? undefined) : undefined,
  );
  const directory = createDirectory(ctx, people, config.ingest?.enabled === true, () => (link.state === "open" ? link.socket : undefined));
  const sent = createSent(ctx);
  const several = agentsOf(config).length > 1;
  const media = { vendor, fetch: ctx.fetch, ...(config.mediaServer === undefined ? {} : { server: config.mediaServer.replace(/\/+$/, "") }) };
  const outbound = createOutbound({
    vendor,
    people,
    sent,
    socket,
    nameOf: (agent) => (several && agent !== undefined ? (ctx.agents.get(agent)?.name ?? agent) : undefined),
    rich: (agent) => ctx.agents.get(agent ?? config.defaultAgent ?? "")?.settings.richMessages !== false,
    upload: (file, signal) => upload(media, socket(), file, signal),
  });

  const history = createHistory(vendor);
  const inbound = createInbound(ctx, { vendor, people, directory, own: () => session.creds.me });
  const connection = createConnection({
    vendor,
    session,
    log,
    ...(config.server === undefined ? {} : { server: config.server }),
    hear(message) {
      history.offer(message);
      return inbound.hear(message);
    },
    attend: directory.attend,
    sent: outbound.again,
    settled: sent.settled,
    newestVersion: async () => versionIn((await ctx.fetch("https://web.whatsapp.com/sw.js", { maxBytes: 4_194_304 })).text()),
    changed(next) {
      if (link.state === "open") history.ended(notConnected("the connection ended"));
      link = next;
      tell();
    },
  });
  link = connection.link;
  tell();
  connection.allow(false, "asks whether another daemon has the connection");
  connection.start();
  // Two that connect as one linked device throw each other out.
  const holding = whileHeld(
    ctx.store,
    "connection",
    {
      signal: cut.signal,
      standby: (node) => connection.allow(false, standbyNote(node)),
      failed: (reason) => connection.allow(false, reason),
    },
    async (own) => {
      connection.allow(true);
      await new Promise<void>((resolve) => onAbort(own, () => resolve()));
      if (!cut.signal.aborted) connection.allow(false);
    },
  );

  return {
    ...outbound,
    connection,
    directory,
    history,
    people,
    vendor,
    socket,
    async fetchMedia({ handle: file = "", type }, signal) {
      return { data: await download(media, file, signal), ...(type === undefined ? {} : { type }) };
    },
    async test() {
      const line = socket();
      await line.query({ tag: "iq", attrs: { to: "s.whatsapp.net", type: "get", xmlns: "w:p" }, content: [{ tag: "ping", attrs: {} }] }, 10_000);
      return `linked as +${partsOf(session.creds.me?.id ?? "").user}`;
    },
    async stop() {
      // First the connection: what waits to be kept is then not acknowledged.
      cut.abort();
      await connection.stop();
      await holding;
      await session.close();
    },
  };
}

/** Returns the version that the platform's own page names. */
function versionIn(page: string): [number, number, number] | undefined {
  const found = /client_revision\\?"\s*:\s*(\d+)/.exec(page)?.[1];
  return found === undefined ? undefined : [2, 3000, Number(found)];
}
