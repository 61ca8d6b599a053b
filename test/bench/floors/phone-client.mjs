/** The least that an answer on a linked phone takes: the vendor's client with its own files of keys. `phone-client.mjs <url> <folder>` */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const entry = createRequire(new URL("../../../plugins/channels/phonemsg/package.json", import.meta.url)).resolve("@whiskeysockets/baileys");
const lib = await import(pathToFileURL(entry).href);
const [, , waWebSocketUrl, folder] = process.argv;
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);
for (const method of ["debug", "error", "info", "log", "warn"]) console[method] = () => {};
const silent = { level: "silent", child: () => silent, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const { state, saveCreds } = await lib.useMultiFileAuthState(folder);
const auth = { creds: state.creds, keys: lib.makeCacheableSignalKeyStore(state.keys, silent) };
let shown = false;

function connect() {
  const socket = lib.default({ auth, waWebSocketUrl, logger: silent, markOnlineOnConnect: false, shouldSyncHistoryMessage: () => false });
  socket.ev.on("creds.update", saveCreds);
  socket.ev.on("connection.update", ({ qr, connection }) => {
    if (qr !== undefined && !shown) {
      shown = true;
      say({ qr });
    }
    if (connection === "open") say({ ready: true });
    if (connection === "close") connect();
  });
  socket.ev.on("messages.upsert", ({ messages }) => {
    for (const { key, message } of messages) if (!key.fromMe && message?.conversation) void socket.sendMessage(key.remoteJid, { text: message.conversation });
  });
}
connect();
process.stdin.on("data", () => {});
process.on("SIGTERM", () => process.exit(0));
