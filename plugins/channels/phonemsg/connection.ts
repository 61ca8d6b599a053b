import { type PairingCause, sleep, svcError } from "@svc/sdk";
import type { WASocket } from "@whiskeysockets/baileys";
import { type Ended, FIRST_PAUSE_MS, type LineDeps, LONGEST_PAUSE_MS, openLine, type Version, type Wanted } from "./line.ts";

/** State of the connection. `unpaired`: no phone has linked this device, and no pairing is in progress. */
export type Link =
  | { readonly state: "unpaired" | "connecting" | "down"; readonly reason: string; readonly cause?: PairingCause }
  | { readonly state: "pairing"; readonly qr?: string; readonly code?: string }
  | { readonly state: "open"; readonly socket: WASocket; readonly me: string };

/** Dependencies of the connection. */
export interface ConnectionDeps extends LineDeps {
  /** The newest version of the platform's own program, asked for when ours is refused as too old. */
  newestVersion(): Promise<Version | undefined>;
  changed(link: Link): void;
  /** Waits between two tries; ends early with the signal. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** The one connection to the platform: made anew whenever it ends, as long as the phone has this device linked. */
export interface Connection {
  readonly link: Link;
  start(): void;
  /** Whether it may be open: of several daemons with the same number one has it. `reason` says why not. Until it is said, it may. */
  allow(allowed: boolean, reason?: string): void;
  /** Asks a phone to link this device: by a picture to be scanned, or with a number by a code to be typed. Already under way: begins anew. */
  pair(number?: string): void;
  /** Takes the device off the phone and puts the pairing aside; resolves with where it is kept. */
  unpair(): Promise<string>;
  stop(): Promise<void>;
}

/** Another program that has our place usually keeps it: who comes back at once throws that one out, and is thrown out again. */
const FIRST_CONFLICT_MS = 15_000;
const LONGEST_CONFLICT_MS = 300_000;
const UNPAIRED = "no phone is linked; link one with: svc phonemsg pair";
const LOGGED_OUT = 401;
const REFUSED = 403;
const TOO_OLD = 405;
const REPLACED = 440;
const RESTART = 515;

/** An unlinking that has been asked for. */
interface Leaving {
  /** Where the old session is kept. */
  readonly aside: Promise<string>;
  done(aside: string): void;
  failed(error: Error): void;
}

function createLeaving(): Leaving {
  let done: Leaving["done"] = () => {};
  let failed: Leaving["failed"] = () => {};
  const aside = new Promise<string>((resolve, reject) => {
    [done, failed] = [resolve, reject];
  });
  // Its caller may still be logging out.
  aside.catch(() => {});
  return { aside, done, failed };
}

const endedHere = () => svcError("SVC_PHONEMSG_ENDED", "The channel ends before the phone is unlinked; try again once it runs.", { status: 503 });

/** Makes the connection; it is made with `start`. */
export function createConnection(deps: ConnectionDeps): Connection {
  const { session, log, pause = sleep } = deps;
  let link: Link = session.paired ? { state: "connecting", reason: "not connected yet" } : { state: "unpaired", reason: UNPAIRED };
  let wanted: Wanted | undefined;
  let stopped = false;
  let allowed = true;
  let running: Promise<void> | undefined;
  let end: (() => void) | undefined;
  let wake = new AbortController();
  let leaving: Leaving | undefined;
  let version: Version | undefined;

  const turn = (next: Link) => {
    link = next;
    deps.changed(next);
  };
  /** Ends early when something has been asked for. */
  const wait = async (ms: number) => {
    await pause(ms, wake.signal);
    if (wake.signal.aborted) wake = new AbortController();
  };
  const rouse = () => wake.abort();

  async function run(): Promise<void> {
    for (let failures = 0; !stopped; ) {
      if (leaving !== undefined) {
        const { done } = leaving;
        const aside = await putAside(() => UNPAIRED);
        leaving = undefined;
        done(aside);
      }
      if (!session.paired && wanted === undefined) {
        await wait(2 ** 30);
        continue;
      }
      if (session.paired && !allowed) {
        await wait(2 ** 30);
        continue;
      }
      const pairing = session.paired ? undefined : wanted;
      const began = Date.now();
      const ended = await once(pairing);
      if (stopped) return;
      if (leaving !== undefined || (session.paired && !allowed)) continue;
      // A place that was taken from us again and again was no success each time.
      if (ended.opened && (ended.code !== REPLACED || Date.now() - began > LONGEST_CONFLICT_MS)) failures = 0;
      failures = await consider(ended, pairing !== undefined, failures);
    }
  }

  async function putAside(reason: (aside: string) => string, cause?: PairingCause): Promise<string> {
    const aside = await session.setAside();
    wanted = undefined;
    turn({ state: "unpaired", reason: reason(aside), ...(cause === undefined ? {} : { cause }) });
    return aside;
  }

  /** Handles the end of a connection. Resolves with the number of failures in a row. */
  async function consider({ code, reason }: Ended, pairing: boolean, failures: number): Promise<number> {
    if (code === RESTART) return 0;
    if (session.paired && code === LOGGED_OUT) {
      await putAside((aside) => `the phone has unlinked this device; link it again with: svc phonemsg pair (the old session is kept in ${aside})`, "unlinked");
      log.error({}, "the phone has unlinked this device; link it again with: svc phonemsg pair");
      return 0;
    }
    if (pairing && !session.paired) {
      // A pairing that is asked for again begins at once; one that ran out is over.
      if (wake.signal.aborted) return 0;
      wanted = undefined;
      const shown = link.state === "pairing" && (link.qr ?? link.code) !== undefined;
      const cause = code === TOO_OLD || code === REFUSED ? causeOf(code) : shown ? "expired" : "unreached";
      turn({ state: "unpaired", reason: `pairing has ended (${reason}); begin again with: svc phonemsg pair`, cause });
      return 0;
    }
    if (code === TOO_OLD && failures === 0) {
      version = await deps.newestVersion().catch(() => undefined);
      if (version !== undefined) return 1;
    }
    turn({ state: "down", reason: told(code, reason), cause: causeOf(code) });
    if (failures === 0) log.warn({ code }, `${told(code, reason)}; trying again`);
    const isConflict = code === REPLACED || code === REFUSED;
    const [first, longest] = isConflict ? [FIRST_CONFLICT_MS, LONGEST_CONFLICT_MS] : [FIRST_PAUSE_MS, LONGEST_PAUSE_MS];
    await wait(Math.min(first * 2 ** Math.min(failures, 20), longest) * (0.75 + Math.random() / 2));
    return failures + 1;
  }

  /** One connection from its beginning to its end. */
  function once(pairing: Wanted | undefined): Promise<Ended> {
    if (link.state !== "down") turn(pairing === undefined ? { state: "connecting", reason: "connecting" } : { state: "pairing" });
    const opened = (socket: WASocket) => {
      wanted = undefined;
      turn({ state: "open", socket, me: session.creds.me?.id ?? "" });
    };
    const line = openLine(deps, { pairing, version, opened, shown: (what) => turn({ state: "pairing", ...what }) });
    end = line.end;
    return line.ended;
  }

  return {
    get link() {
      return link;
    },
    start() {
      running ??= run();
    },
    allow(may, reason = "another daemon has the connection") {
      allowed = may;
      if (!may && session.paired) {
        end?.();
        turn({ state: "down", reason });
      }
      rouse();
    },
    pair(number) {
      session.begin();
      wanted = number === undefined ? {} : { number };
      turn({ state: "pairing" });
      rouse();
      end?.();
    },
    async unpair() {
      if (stopped) throw endedHere();
      // Asked for twice at once, it happens once.
      if (leaving !== undefined) return leaving.aside;
      const { aside } = (leaving = createLeaving());
      if (link.state === "open") await link.socket.logout().catch(() => end?.());
      else end?.();
      rouse();
      return aside;
    },
    async stop() {
      stopped = true;
      end?.();
      rouse();
      await running;
      leaving?.failed(endedHere());
    },
  };
}

const causeOf = (code: number): PairingCause => (code === REPLACED ? "replaced" : code === REFUSED ? "refused" : code === TOO_OLD ? "outdated" : "unreached");

function told(code: number, reason: string): string {
  if (code === REPLACED) return "another program uses this linked device; stop it, or unlink the device on the phone and pair again: svc phonemsg pair";
  if (code === REFUSED) return "the platform refuses this number; open the app on the phone to see why";
  if (code === TOO_OLD) return "the platform refuses this version of the program; update the plugin: svc plugin update";
  return `the platform was not reached or ended the connection (${code === 0 ? "" : `${code}: `}${reason.slice(0, 120)})`;
}
