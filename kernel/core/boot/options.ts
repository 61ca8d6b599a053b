import type { Plugin, StoreDriver } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { RootLog } from "../../base/log.ts";
import { nearest } from "../../base/nearest.ts";
import type { PhaseLimits } from "../host/hosted-plugin.ts";

/** How a program embeds the kernel. Everything that touches the outside is off unless asked for. */
export interface CoreOptions {
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
  /** An operator asks this daemon to end, through the store: the program should stop the kernel in order. */
  readonly onDrain?: () => void;
  /** Called after a clean stop that `POST /restart` asked for: the program starts itself anew. Without it such a request is refused with 501. */
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
