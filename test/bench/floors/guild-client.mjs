/** The least that an answer in a guild takes: the vendor's gateway and REST client, nothing stored. `guild-client.mjs <root> <token>` */
import { createRequire } from "node:module";

const require = createRequire(new URL("../../peers/package.json", import.meta.url));
const { REST } = require("@discordjs/rest");
const { WebSocketManager } = require("@discordjs/ws");

const [, , api, token] = process.argv;
const rest = new REST({ version: "10", api }).setToken(token);
const manager = new WebSocketManager({ token, intents: 1 | (1 << 9) | (1 << 12) | (1 << 15), rest });
manager.on("dispatch", ({ t, d }) => {
  if (t === "READY") console.log(JSON.stringify({ ready: true }));
  if (t === "MESSAGE_CREATE" && !d.author.bot) void rest.post(`/channels/${d.channel_id}/messages`, { body: { content: d.content } });
});
process.on("SIGTERM", () => process.exit(0));
await manager.connect();
