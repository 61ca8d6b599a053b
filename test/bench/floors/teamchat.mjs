// A bot on the platform's own client, without anything else: it acknowledges, says what it hears, and keeps nothing.
// `node teamchat.mjs <api root> <bot token> <app token>`
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(import.meta.dirname, "../../peers/package.json"));
const { SocketModeClient, LogLevel } = require("@slack/socket-mode");
const { WebClient } = require("@slack/web-api");

const [, , slackApiUrl, botToken, appToken] = process.argv;
const quiet = { logLevel: LogLevel.ERROR };
const web = new WebClient(botToken, { slackApiUrl, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true, ...quiet });
const client = new SocketModeClient({ appToken, clientOptions: { slackApiUrl }, ...quiet });
client.on("message", async ({ event, ack }) => {
  await ack();
  if (event.bot_id === undefined) await web.chat.postMessage({ channel: event.channel, text: event.text });
});
await client.start();
console.log(JSON.stringify({ ready: true }));
