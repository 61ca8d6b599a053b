import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { type ErrorCode, fail } from "../../base/errors.ts";

/** An address that a name resolves to. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** The addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>;

/** The system's resolver. */
export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

/** Creates the resolver of a connection: the connection goes to the very address that it returns, so nothing can change between check and use. */
export function lookupWith(resolve: Resolve, allowed: (address: string) => boolean, refusal: ErrorCode): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first, ...rest] = addresses.filter(({ address }) => allowed(address));
        if (first === undefined) callback(fail(refusal, { host: hostname }), "", 0);
        else if (options.all) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, "", 0),
    );
  };
}
