import type { SvcError } from "@svc/sdk";
import { fail } from "../base/errors.ts";

/** Something of the context that has no way over the wire. Names the plugin and what to do. */
export const refused = (plugin: string, what: string): SvcError => fail("SVC_ISOLATION_REFUSED", { plugin, what });
