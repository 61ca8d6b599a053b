import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { muteLibraries } from "../../../plugins/channels/phonemsg/quiet-console.ts";
import { ROOT } from "../../house/house.ts";

const FOLDER = join(ROOT, "plugins/channels/phonemsg");
const ENTRY = join(FOLDER, "node_modules/@whiskeysockets/baileys/lib/index.js");

/** Why tests that need the package apart are skipped; nothing when it is installed. */
export const lacking: string | undefined = existsSync(ENTRY) ? undefined : "plugins/channels/phonemsg is not installed: npm run apart";
if (lacking !== undefined) console.warn(`skipped: ${lacking}`);

// biome-ignore lint/suspicious/noExplicitAny: the library is outside of the workspace
export type Library = any;

/** Its primitives: keys, cipher, protocol buffers, binary nodes. The server stands on these, the client under test on the whole. */
export const library = async (): Promise<Library> => {
  muteLibraries();
  return import(pathToFileURL(ENTRY).href);
};

/** The WebSocket server that comes with it. */
export const socketServer = (): Library => createRequire(ENTRY)("ws");
