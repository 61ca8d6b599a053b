/** The least that answers a request: node:http and nothing else. */
import { createServer } from "node:http";

createServer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}')).listen(
  Number(process.argv[2]),
  "127.0.0.1",
);
process.on("SIGTERM", () => process.exit(0));
