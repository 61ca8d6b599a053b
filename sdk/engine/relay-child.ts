/*
 * The engine's parent behind the sandbox: listens on the loopback of the sandbox's own network, forwards each connection to the relay's socket byte
 * for byte, and ends as the engine ends.
 *
 *   node relay-child.js <socket> <port> <program> [argument ...]
 */
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";

const [socket = "", port = "", program = "", ...args] = process.argv.slice(2);

const server = createServer((near) => {
  const far = connect(socket);
  near.on("error", () => far.destroy());
  far.on("error", () => near.destroy());
  near.on("close", () => far.destroy());
  far.on("close", () => near.destroy());
  near.pipe(far);
  far.pipe(near);
});

server.on("error", (error) => {
  process.stderr.write(`relay: ${error.message}\n`);
  process.exit(1);
});
server.listen(Number(port), "127.0.0.1", () => {
  const engine = spawn(program, args, { stdio: "inherit" });
  engine.on("error", (error) => {
    process.stderr.write(`relay: ${error.message}\n`);
    process.exit(1);
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => engine.kill(signal));
  engine.on("exit", (code, signal) => {
    // The others take the ending signal as a code, as a shell does.
    process.exit(code ?? (signal === "SIGKILL" ? 137 : 143));
  });
});
