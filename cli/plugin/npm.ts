import { spawn } from "node:child_process";
import { fail } from "../errors.ts";

/** npm options with which an unreachable registry is reported within seconds; by default npm would try for more than a minute. */
const REACHING = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=10000"];

/** A cache that has all of a bundle's packages, and the address of the registry under which npm filed them there. */
export interface PackageSource {
  readonly cache: string;
  readonly registry: string;
}

/** npm reads packages from that source alone, whatever its settings say. */
export const offline = ({ cache, registry }: PackageSource): readonly string[] => [
  "--offline",
  `--cache=${cache}`,
  `--registry=${registry}`,
  // Files that do not exist; npm refuses to read one file as both.
  `--userconfig=${cache}/no-user-settings`,
  `--globalconfig=${cache}/no-global-settings`,
];

/** The npm on PATH, with the user's own registry and settings. No shell reads the words. */
export async function npm(cwd: string, args: readonly string[]): Promise<void> {
  await npmSays(cwd, args);
}

/** As `npm`, resolving with its standard output. */
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
      else reject(fail("SVC_CLI_NPM", { what: args[0], reason: reasonIn(said) || said.trim().split("\n").at(-1) || `it ended with code ${code}` }));
    });
  });
}

/** Error codes of npm for an unreachable network. */
const UNREACHED = /^code (ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|FETCH_ERROR|ERR_SOCKET_TIMEOUT)$/;

/** Extracts npm's error on one line. For conflicting versions it prints a page that ends in advice to force it: of that, the conflict. */
function reasonIn(said: string): string {
  const lines = said
    .split("\n")
    .filter((line) => line.startsWith("npm error") && !line.includes("A complete log"))
    .map((line) => line.slice("npm error".length).trim());
  const unreached = lines.find((line) => UNREACHED.test(line));
  if (unreached !== undefined)
    return `the registry does not answer (${unreached.replace(/^code /, "")}). Without one a plugin is installed from a file, which 'svc plugin bundle <plugin>' makes where there is one: svc plugin add ./<file>.tgz`;
  if (!lines.includes("code ERESOLVE")) return lines.join(" ");
  const asked = lines.filter((line) => /^(peer|peerOptional) /.test(line));
  return `it does not fit beside what is installed already: ${[...new Set(asked)].join("; ")}. Remove that plugin, or install another version of this one`;
}
