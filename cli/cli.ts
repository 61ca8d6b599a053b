import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { CliHost } from "@svc/sdk";
import type { Address } from "./client.ts";
import type { GroupEntry } from "./group.ts";
import { kernelCode } from "./kernel-code.ts";
import { type DaemonNote, type OwnDaemon, ownDaemon, readNote } from "./own-daemon.ts";

/** Options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean;
  /** The configuration file; default `SVC_CONFIG`, else `svc.json` in the current folder. */
  readonly config?: string;
  /** Ask the daemon with this `node.id`, one on the same store, in place of the folder's own. */
  readonly node?: string | undefined;
}

/** Interface for our own commands; plugins get the `CliHost` part. */
export interface Cli extends Omit<CliHost, "request">, OwnDaemon {
  readonly file: string;
  readonly json: boolean;
  /** Colours and live output make sense. */
  readonly terminal: boolean;
  readonly logFile: string;
  /** All command groups, those of plugins too; nothing is imported until one is loaded. */
  groups(): readonly GroupEntry[];
  address(): Address;
  /** Where it listens by its configuration, whatever a daemon left behind. */
  configured(): Address;
  note(): DaemonNote | undefined;
  /** A line for people, on standard error, so that standard output stays clean for pipes. */
  say(text: string): void;
}

/** Reads the inputs of every command from the global options and the environment. Opens nothing yet. */
export function createCli(options: GlobalOptions, env: NodeJS.ProcessEnv, groups: () => readonly GroupEntry[]): Cli {
  const file = resolve(options.config || env.SVC_CONFIG || "svc.json");
  const folder = dirname(file);
  const dataFolder = join(folder, ".svc");
  const json = options.json ?? false;
  const note = () => readNote(dataFolder);
  const address = (): Address => note() ?? configuredAddress(file);
  const daemon = ownDaemon({ folder, dataFolder, address, note });
  const scopes = async () => {
    const [{ added, firstParty }, { createScopeTable }] = await Promise.all([import("./catalog.js"), import("@svc/sdk/host")]);
    return createScopeTable([...firstParty(), ...added(file)].map(({ manifest }) => manifest.scopes ?? []));
  };
  return {
    file,
    folder,
    dataFolder,
    data: async () => (await import("@svc/kernel/folder")).createFolder(dataFolder),
    next: async (...asked) => (await import("@svc/kernel/folder")).timesOf(...asked),
    scopes,
    json,
    terminal: process.stdout.isTTY === true && !json,
    logFile: join(dataFolder, "daemon.log"),
    note,
    groups,
    address,
    configured: () => configuredAddress(file),
    ...daemon,
    ask: async (question, how) => (await import("./asking.js")).ask(question, { ...how, terminal: process.stdin.isTTY === true && !json }),
    stream: async (path, onEvent, how) => (await import("./follow.js")).follow(daemon, path, onEvent, how),
    async readSettings() {
      const { openFile } = await import("./change.js");
      const { document, revision } = await openFile({ file, dataFolder });
      return { document: document(), revision };
    },
    section: async (path) => (await (await import("./change.js")).openFile({ file, dataFolder })).get(path, true),
    async change(edits, how) {
      const { changeSettings } = await import("./change.js");
      return changeSettings({ file, dataFolder, request: daemon.request }, edits, how);
    },
    fileSettings: async () => (await import("./file-settings.js")).fileSettings({ file, dataFolder, request: daemon.request }),
    serve: async (server) => kernelCode().serveCommand(server, { file, dataFolder, scopes: await scopes() }),
    print(human, value) {
      process.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : human === "" ? "" : `${plain(human)}\n`);
    },
    say(text) {
      process.stderr.write(`${plainButColours(text)}\n`);
    },
  };
}

/** From now on the command does its work to the end, also where the reader of its output has gone (`svc ... | head`). */
export function outliveReader(): void {
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error").on("error", () => {});
}

/** Removes terminal control characters and bidirectional overrides from foreign text; our own colours are added afterwards. */
export const plain = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "");

/** The same, but the two sequences of `qrPicture` stay: what is said may hold a picture, and words of plugins and of other servers. */
export const plainButColours = (text: string): string =>
  text
    .split(/(\u001b\[(?:97;40|0)m)/)
    .map((part, at) => (at % 2 === 1 ? part : plain(part)))
    .join("");

/** The same on one line: foreign text that stands within a line of ours. */
export const oneLine = (text: string): string => plain(text).replace(/\s+/g, " ").trim();

/** A line about what is not well; its words may be a plugin's. */
export const problemLine = (problem: string): string => `problem: ${oneLine(problem)}`;

/** Address of a daemon whose configuration sets none. */
export const DEFAULT_BIND = "127.0.0.1:18800";

/** Where the daemon would listen by its configuration, without loading the kernel. */
function configuredAddress(file: string): Address {
  let bind = DEFAULT_BIND;
  if (existsSync(file)) {
    try {
      const { node } = JSON.parse(readFileSync(file, "utf8")) as { node?: { bind?: unknown } };
      if (typeof node?.bind === "string") bind = node.bind;
    } catch {
      // A broken document is the daemon's to report; the default address is where a client looks.
    }
  }
  return addressOf(bind);
}

/** Where a client reaches a daemon that listens on `bind`; port 0 where only the note of a running daemon could say. */
export function addressOf(bind: string): Address {
  const at = bind.lastIndexOf(":");
  const host = bind.slice(0, at).replace(/^\[|\]$/g, "");
  const port = /^\d+$/.test(bind.slice(at + 1)) ? Number(bind.slice(at + 1)) : 18800;
  return { host: host === "0.0.0.0" || host === "::" || host === "" ? "127.0.0.1" : host, port };
}
