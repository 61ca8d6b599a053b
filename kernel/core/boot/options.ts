import type { OfferedPlugin, Plugin, StoreDriver } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { RootLog } from "../../base/log.ts";
import { nearest } from "../../base/nearest.ts";
import type { PhaseLimits } from "../host/hosted-plugin.ts";

/** Options of a program that embeds the kernel. Everything with an effect outside the process is off by default. */
export interface CoreOptions {
  /** A path to svc.json, or its value. */
  readonly config: string | object;
  /** A text to start from in place of the file's; the next reload reads the file again. */
  readonly configText?: string;
  /** Where relative paths of the configuration, and relative roots of the capability `files`, start; default the file's folder, or the current one. */
  readonly folder?: string;
  /**
   * Folder of the state. Unset with a value as `config`: state in memory, files of plugins in a temporary folder that is removed when the kernel
   * stops. Default beside the file: `.svc`.
   */
  readonly dataFolder?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Plugins passed in code. */
  readonly plugins?: readonly Plugin<never>[];
  /** Package folders that are known and load only when the configuration names them. */
  readonly known?: readonly string[];
  /** What could be installed beside `known`, for people: read each time somebody looks, and never by itself. */
  readonly offered?: (() => readonly OfferedPlugin[] | Promise<readonly OfferedPlugin[]>) | undefined;
  /** Further folders in which packages named in `plugins` are looked up. */
  readonly searchFolders?: readonly string[];
  /** Where log lines go; default nowhere. */
  readonly log?: RootLog | { readonly level?: string; readonly destination: "stderr" | string; readonly pretty?: boolean };
  /** Replaces the database of the state. Files of plugins still go to the data folder. */
  readonly store?: StoreDriver;
  /** Open the HTTP API on `node.bind`; default false. */
  readonly listen?: boolean;
  readonly version?: string;
  readonly limits?: Partial<PhaseLimits>;
  readonly now?: () => number;
  /** State can no longer be kept: the program should end with 74 so that it is started anew. */
  readonly onFatal?: (error: Error) => void;
  /** Called when an operator requests, through the store, that this daemon ends: the program should stop the kernel. */
  readonly onDrain?: () => void;
  /** Called after a clean stop that `POST /restart` requested: the program should restart itself. If unset, such a request is refused with 501. */
  readonly onRestart?: () => void;
}

const OPTIONS: Readonly<Record<keyof CoreOptions, true>> = {
  config: true,
  configText: true,
  folder: true,
  dataFolder: true,
  env: true,
  plugins: true,
  known: true,
  offered: true,
  searchFolders: true,
  log: true,
  store: true,
  listen: true,
  version: true,
  limits: true,
  now: true,
  onFatal: true,
  onDrain: true,
  onRestart: true,
};

/** In plain JavaScript no compiler says that an option does nothing. Throws `SVC_KERNEL_OPTION`. */
export function requireKnownOptions(options: object): void {
  const option = Object.keys(options).find((key) => !Object.hasOwn(OPTIONS, key));
  if (option === undefined) return;
  const near = nearest(option, Object.keys(OPTIONS));
  throw fail("SVC_KERNEL_OPTION", { option, next: near === undefined ? `there are ${Object.keys(OPTIONS).join(", ")}` : `did you mean '${near}'?` });
}
