import type { Models } from "./models.ts";

/**
 * What plugins serve each other, by name, with the type of what is served. Names of one word are the sdk's, so that plugins which know
 * nothing of each other mean the same by them. A name of somebody else begins with a word of the owner and a dot; its type is given by
 * declaration merging:
 *
 * ```ts
 * declare module "@svc/sdk" {
 *   interface ServiceTypes {
 *     "acme.notes": { add(text: string): Promise<void> };
 *   }
 * }
 * ```
 */
export interface ServiceTypes {
  /** What `ctx.models` asks. */
  models: Models;
  [name: `${string}.${string}`]: object;
}

/** A name under which something may be served. */
export type ServiceName = keyof ServiceTypes;

/** A service, as the host keeps it. */
export interface ProvidedService {
  readonly name: string;
  readonly api: object;
}
