import { spawn } from "node:child_process";
import { fail } from "../errors.ts";

/** A registry that does not answer is told of within seconds; npm alone would try for more than a minute. */
const REACHING = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=10000"];

/** The npm on PATH, with the user's own registry and settings. No shell reads the words. */
export async function npm(cwd: string, args: readonly string[]): Promise<void> {
  await npmSays(cwd, args);
}

/** As `npm`, with what it wrote to standard output. */
export function npmSays(cwd: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", [...args.slice(0, 1), ...REACHING, ...args.slice(1)], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      said = (said + chunk).slice(-8_192);
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(fail("SVC_CLI_NPM", { what: args[0], reason: error.code === "ENOENT" ? "there is no npm on PATH" : error.message })),
    );
    child.on("close", (code) => {
      if (code === 0) resolve(out.trim());
      else reject(fail("SVC_CLI_NPM", { what: args[0], reason: reasonIn(said) || `it ended with code ${code}` }));
    });
  });
}

/** The codes of a network that is not there. */
const UNREACHED = /^code (ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|FETCH_ERROR|ERR_SOCKET_TIMEOUT)$/;

/** What npm said, on one line. Where versions do not fit together it prints a page that ends in advice to force it: of that, who asks for what. */
function reasonIn(said: string): string {
  const lines = said
    .split("\n")
    .filter((line) => line.startsWith("npm error") && !line.includes("A complete log"))
    .map((line) => line.slice("npm error".length).trim());
  const unreached = lines.find((line) => UNREACHED.test(line));
  if (unreached !== undefined)
    return `the registry does not answer (${unreached.replace(/^code /, "")}). Without one a plugin is installed from a file: svc plugin add ./<tarball>.tgz`;
  if (!lines.includes("code ERESOLVE")) return lines.join(" ");
  const asked = lines.filter((line) => /^(peer|peerOptional) /.test(line));
  return `it does not fit beside what is installed already: ${[...new Set(asked)].join("; ")}. Remove that plugin, or install another version of this one`;
}
