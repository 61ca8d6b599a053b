import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { loadEnvironment } from "../../base/config-text/environment.ts";
import { type ConfigDocument, type DocumentSource, openDocument } from "../config/document.ts";
import type { CoreOptions } from "./options.ts";

/** Where a kernel reads its configuration, and where it writes. */
export interface Locations {
  /** The configuration, if it is a file. */
  readonly configFile?: string;
  /** Where relative paths of the configuration start; holds `.env`. */
  readonly folder: string;
  /** The data folder; nothing is in it unless `onDisk`. */
  readonly dataFolder: string;
  readonly onDisk: boolean;
  /** Folder for the state of plugins: the data folder, or a temporary one that is removed when the kernel stops. */
  readonly stateFolder: string;
  /** The environment as it was when the kernel was made. */
  readonly env: NodeJS.ProcessEnv;
  /** Reads the document again, or another text in place of its file, with the current environment. Throws `SVC_CONFIG_*`. */
  reopen(text?: string): ConfigDocument;
}

/** The locations that the options of a kernel name. Throws `SVC_CONFIG_UNREADABLE` for an `.env` that cannot be read. */
export function locationsOf(options: Pick<CoreOptions, "config" | "folder" | "dataFolder" | "env">): Locations {
  const source: DocumentSource = typeof options.config === "string" ? { file: resolve(options.config) } : { value: options.config };
  const isFile = "file" in source;
  const folder = resolve(options.folder ?? (isFile ? dirname(source.file) : "."));
  const dataFolder = resolve(folder, options.dataFolder ?? ".svc");
  const onDisk = options.dataFolder !== undefined || isFile;
  const env = isFile ? loadEnvironment(folder, options.env ?? process.env) : (options.env ?? {});
  return {
    ...(isFile ? { configFile: source.file } : {}),
    folder,
    dataFolder,
    onDisk,
    stateFolder: onDisk ? dataFolder : join(tmpdir(), `svc-${randomUUID()}`),
    env,
    reopen: (text) =>
      openDocument(isFile && text !== undefined ? { ...source, text } : source, isFile ? loadEnvironment(folder, options.env ?? process.env) : env),
  };
}
