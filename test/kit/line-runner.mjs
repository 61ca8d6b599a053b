/* Runs lines of the command line one after the other in one process: loading the program anew for each of some hundred would take most of their time. */
import { main } from "../../cli/dist/main.js";

/** What was written since the last line. */
const said = { out: "", err: "" };
for (const [stream, name] of [
  [process.stdout, "out"],
  [process.stderr, "err"],
])
  stream.write = (chunk, encoding, done) => {
    said[name] += chunk;
    (typeof encoding === "function" ? encoding : done)?.();
    return true;
  };
process.stdout.setMaxListeners(0);

const began = { ...process.env, SVC_CONFIG: "" };

process.on("message", async ({ folder, args, env }) => {
  process.chdir(folder);
  process.env = { ...began, ...env };
  Object.assign(said, { out: "", err: "" });
  process.exitCode = undefined;
  const code = await main(args, process.env);
  process.send({ code, ...said });
});
