/** A bot on the vendor's client, without anything else: it says what it hears, and keeps nothing. `bot-client.mjs <api root> <token>` */
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../plugins/channels/botmsg/package.json", import.meta.url));
const { Bot } = require("grammy");

const [, , apiRoot, token] = process.argv;
const bot = new Bot(token, { client: { apiRoot } });
bot.on("message:text", (context) => context.reply(context.message.text));
process.on("SIGTERM", () => process.exit(0));
await bot.start({ onStart: () => console.log(JSON.stringify({ ready: true })) });
