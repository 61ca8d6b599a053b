/** Connections that ask for a stream and read whatever comes. Arguments: port, path, how many. */
import { request } from "node:http";

const [port, path, count] = process.argv.slice(2);
const open = () =>
  new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: Number(port), path, agent: false }, (response) => {
      response.resume();
      resolve();
    })
      .on("error", reject)
      .end();
  });
await Promise.all(Array.from({ length: Number(count) }, open));
process.on("uncaughtException", () => process.exit(0));
process.on("SIGTERM", () => process.exit(0));
console.log("{}");
