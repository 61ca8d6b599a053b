import type { SvcError } from "@svc/sdk";
import { fail } from "../base/errors.ts";

/** Creates the error for a member of the context that cannot cross the wire. Names the plugin and the next step. */
export const refused = (plugin: string, what: string): SvcError => fail("SVC_ISOLATION_REFUSED", { plugin, what });
