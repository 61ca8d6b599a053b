import type { Log, Plugin, StoreDriver } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { RootLog } from "../../base/log.ts";
import type { Configuration } from "../config/configuration.ts";
import { nearest } from "../config/suggest.ts";
import type { PhaseLimits } from "../host/entry.ts";
import type { HttpServing, RequestHandler, ServerAddress } from "./http-port.ts";
import type { KernelPort, ReloadReport } from "./kernel-port.ts";

/** How a program embeds the kernel. Everything that touches the outside is off unless asked for. */
export interface KernelOptions {
  /** A path to svc.json, or its value. */
  readonly config: string | object;
  /** A text to start from in place of the file's; the next reload reads the file again. */
  readonly configText?: string;
  /** Where relative paths of the configuration start; default the file's folder, or the current one. */
  readonly folder?: string;
  /** Where state is kept. Unset with a value as `config`: in memory, and what plugins write goes to a temporary folder that goes when the kernel stops. Default beside the file: `.svc`. */
  readonly dataFolder?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Plugins handed over in code. */
  readonly plugins?: readonly Plugin<never>[];
  /** Package folders that are known and load only when the configuration asks for them. */
  readonly known?: readonly string[];
  /** Further folders in which packages named in `plugins` are looked up. */
  readonly searchFolders?: readonly string[];
  /** Where log lines go; default nowhere. */
  readonly log?: RootLog | { readonly level?: string; readonly destination: "stderr" | string; readonly pretty?: boolean };
  /** Where state is kept in place of the database. What plugins write as files still goes to the data folder. */
  readonly store?: StoreDriver;
  /** Open the HTTP API on `node.bind`; default false. */
  readonly listen?: boolean;
  readonly version?: string;
  readonly limits?: Partial<PhaseLimits>;
  readonly now?: () => number;
  /** State can no longer be kept: the program should end with 74 so that it is started anew. */
  readonly onFatal?: (error: Error) => void;
  /** Called after a clean stop that `POST /restart` asked for: the program starts itself anew. Without it such a request is refused with 501. */
  readonly onRestart?: () => void;
}

const OPTIONS: Readonly<Record<keyof KernelOptions, true>> = {
  config: true,
  configText: true,
  folder: true,
  dataFolder: true,
  env: true,
  plugins: true,
  known: true,
  searchFolders: true,
  log: true,
  store: true,
  listen: true,
  version: true,
  limits: true,
  now: true,
  onFatal: true,
  onRestart: true,
};

/** In plain JavaScript no compiler says that an option does nothing. Throws `SVC_KERNEL_OPTION`. */
export function requireKnownOptions(options: object): void {
  const option = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key));
  if (option === undefined) return;
  const near = nearest(option, Object.keys(OPTIONS));
  throw fail("SVC_KERNEL_OPTION", { option, next: near === undefined ? `there are ${Object.keys(OPTIONS).join(", ")}` : `did you mean '${near}'?` });
}

/** A running kernel. */
export interface Kernel extends KernelPort {
  readonly log: Log;
  start(): Promise<void>;
  /**
   * Refuse new work, wait for running turns as long as configured (or `drainSeconds`), then close everything. On the way out already:
   * waits for its end, `drainSeconds: 0` ends the wait for running turns, and a restart that was asked for becomes a stop.
   */
  stop(options?: { readonly drainSeconds?: number }): Promise<void>;
  reload(): Promise<ReloadReport>;
  /** The effective configuration. */
  readonly configuration: Configuration;
  /**
   * The HTTP API for mounting in a fastify application: `app.register(await kernel.routesPlugin())`. With the name of a server that
   * a running plugin provides, such as `dashboard`, the routes of that one; else `SVC_SERVER_UNKNOWN`.
   */
  routesPlugin(server?: string): ReturnType<HttpServing["mount"]>;
  /**
   * The same for node:http and what stands on it: `app.use("/svc", await kernel.handler())` in Express, before its body parsers. It ends
   * each request, and lasts until the kernel stops.
   */
  handler(server?: string): Promise<RequestHandler>;
  /** Where the HTTP API listens. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  /** Where the servers of plugins listen. */
  readonly servers: readonly ServerAddress[];
  /** Was this stray error a plugin's of this kernel? Then it is counted against it and the process may go on. Of several kernels, ask each. */
  stray(error: unknown): boolean;
}
