import { createRequire } from "node:module";
import type * as Yaml from "yaml";

let library: typeof Yaml | undefined;

/** The library `yaml`, loaded with the first definition. */
export function yaml(): typeof Yaml {
  library ??= createRequire(import.meta.url)("yaml") as typeof Yaml;
  return library;
}
