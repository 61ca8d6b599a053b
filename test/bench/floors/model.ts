/** The model server of the peers' tests, as a process of its own. */
import { startModelServer } from "../../peers/model-server.ts";

const server = await startModelServer();
process.on("SIGTERM", () => process.exit(0));
console.log(JSON.stringify({ url: server.url }));
