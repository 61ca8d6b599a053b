import { dirname, resolve } from "node:path";
import type { ProvidedStore } from "@svc/sdk";
import { loadEnvironment } from "../base/config-text/environment.ts";
import { createLog } from "../base/log.ts";
import { type EditorDeps, readableText, readEdited } from "./editor.ts";

/**
 * Returns the store that a configuration names, to inspect and copy its state. Of all plugins, only those that can be the store are imported, and
 * nothing is opened. A configuration that is missing or cannot be read means the default store. Throws `SVC_STORE_NONE`, `SVC_STORE_SEVERAL`.
 */
export async function findStore(options: EditorDeps): Promise<ProvidedStore> {
  const { configuration, host } = await readEdited(options, readableText(options), { storesOnly: true });
  const { node = {} } = configuration.value as { node?: { readonly id?: string; readonly name?: string } };
  const { id = "svc", name = id } = node;
  const log = createLog({ destination: "none", secrets: () => [] });
  const env = loadEnvironment(dirname(resolve(options.file)), options.env);
  return host.setUpStore(configuration.wanted, { node: { id, name }, env, log });
}
