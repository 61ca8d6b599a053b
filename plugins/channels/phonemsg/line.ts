import { type Log, sleep } from "@svc/sdk";
import type { ConnectionState, proto, WAMessage, WASocket } from "@whiskeysockets/baileys";
import { ON_DEMAND } from "./ingest/history.ts";
import { quietLog } from "./quiet-log.ts";
import type { Session } from "./session/session.ts";
import { createSignal } from "./signal.ts";
import type { Vendor } from "./vendor.ts";

/** Dependencies of one connection. */
export interface LineDeps {
  readonly vendor: Vendor;
  readonly session: Session;
  readonly log: Log;
  readonly server?: string;
  /** Takes a message; while it rejects, the message is neither acknowledged nor followed by another one. */
  hear(message: WAMessage): Promise<void>;
  /** Listens to what else a socket tells, before it connects. */
  attend(socket: WASocket): void;
  /** A message of ours, for a device that could not open it. */
  sent(id: string): Promise<proto.IMessage | undefined>;
  /** Resolves when all that is being sent has been kept. */
  settled(): Promise<void>;
}

/** The version of the platform's own program that we say we are. */
export type Version = [number, number, number];

/** A pairing that is asked for: by a picture, or with a number by a code. */
export interface Wanted {
  readonly number?: string;
}

/** End of one connection. */
export interface Ended {
  /** The connection was usable before. */
  readonly opened: boolean;
  readonly code: number;
  readonly reason: string;
}

/** Callbacks of one connection while it lasts. */
export interface LineUse {
  readonly pairing: Wanted | undefined;
  readonly version: Version | undefined;
  opened(socket: WASocket): void;
  /** QR code for the phone to scan, or the code to type on it. */
  shown(what: { readonly qr: string } | { readonly code: string }): void;
}

/** The pauses between tries: the first, and the longest. */
export const FIRST_PAUSE_MS = 500;
/** The longest pause between tries. */
export const LONGEST_PAUSE_MS = 60_000;

/** Opens one connection; `end` closes it. */
export function openLine(deps: LineDeps, use: LineUse): { readonly ended: Promise<Ended>; end(): void } {
  const { session } = deps;
  const over = new AbortController();
  const socket = createSocket(deps, use.version, (message) => insist(deps, message, over.signal));
  socket.ev.on("creds.update", (update) => {
    if (update.account !== undefined) session.keepPaired();
    void session.saveCreds().catch(() => {});
  });
  // Messages that do not arrive as an encrypted node, such as later ones from the phone.
  socket.ev.on("messages.upsert", ({ messages }) => {
    for (const message of messages) void insist(deps, message, over.signal).catch(() => {});
  });
  deps.attend(socket);
  const ended = new Promise<Ended>((resolve) => {
    let opened = false;
    let asked = false;
    socket.ev.on("connection.update", (update: Partial<ConnectionState>) => {
      if (update.connection === "open") {
        opened = true;
        // From the second connection on the library need not wait 20 s for a history that comes once.
        if (session.creds.accountSyncCounter === 0) {
          session.creds.accountSyncCounter = 1;
          void session.saveCreds().catch(() => {});
        }
        use.opened(socket);
      }
      if (update.qr !== undefined && use.pairing !== undefined) {
        const { number } = use.pairing;
        if (number === undefined) use.shown({ qr: update.qr });
        else if (!asked) {
          asked = true;
          socket.requestPairingCode(number).then(
            (code) => use.shown({ code }),
            () => socket.end(new Error("the platform gave no code")),
          );
        }
      }
      if (update.connection !== "close") return;
      over.abort(new Error("the connection has ended"));
      const error = update.lastDisconnect?.error as { message?: string; output?: { statusCode?: number } } | undefined;
      resolve({ opened, code: error?.output?.statusCode ?? 0, reason: error?.message ?? "ended" });
    });
  });
  return {
    ended,
    end() {
      // First the socket: what waits to be kept must not be refused to the platform, which would then forget it. By the error, questions
      // that are under way end with it, and their timers.
      socket.ws.emit("error", new Error("ended"));
      void socket.end(undefined);
      over.abort(new Error("the connection has ended"));
    },
  };
}

function createSocket(
  { vendor, session, log, server, sent, settled }: LineDeps,
  version: Version | undefined,
  hear: (message: WAMessage) => Promise<void>,
): WASocket {
  const signal = createSignal({ vendor, session, hear, settled });
  const socket = vendor.default({
    auth: { creds: session.creds, keys: session.keys },
    logger: quietLog(log),
    browser: vendor.Browsers.ubuntu("Chrome"),
    ...(server === undefined ? {} : { waWebSocketUrl: server }),
    ...(version === undefined ? {} : { version }),
    makeSignalRepository: signal.makeRepository,
    // The phone goes on ringing for what comes in.
    markOnlineOnConnect: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: ({ syncType }) => syncType !== vendor.proto.HistorySync.HistorySyncType.FULL && syncType !== ON_DEMAND,
    emitOwnEvents: false,
    defaultQueryTimeoutMs: 30_000,
    // The session itself tries a refused write again.
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    getMessage: async ({ id }) => (typeof id === "string" ? sent(id) : undefined),
  });
  socket.ws.on("frame", signal.saw);
  leaveOutUnreadable(socket, log);
  return socket;
}

/**
 * The library does not catch what it throws at a frame that it cannot read: an error without an owner. Such a frame is left out; if none can be
 * read any more, the library itself finds the connection dead.
 */
function leaveOutUnreadable({ ws }: WASocket, log: Log): void {
  for (const read of ws.listeners("message") as ((data: Uint8Array) => Promise<void> | void)[]) {
    const next = async (data: Uint8Array): Promise<void> => {
      try {
        await read(data);
      } catch {
        log.warn({}, "the platform sent something that the protocol library cannot read; it is left out");
        // Read the data already buffered now, not with the next frame.
        await next(new Uint8Array());
      }
    };
    ws.off("message", read);
    ws.on("message", (data: Uint8Array) => void next(data));
  }
}

/** Hand a message over until it is kept. Rejects when the connection ends first: then it was not acknowledged and comes again. */
async function insist({ hear, log }: LineDeps, message: WAMessage, over: AbortSignal): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    over.throwIfAborted();
    try {
      await hear(message);
      return;
    } catch (error) {
      if (failures === 0) log.error({ err: error }, "a message could not be kept; it is not acknowledged and tried again");
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 20), LONGEST_PAUSE_MS), over);
    }
  }
}
