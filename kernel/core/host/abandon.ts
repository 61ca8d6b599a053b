import type { TierEvent } from "@svc/sdk";
import { inScope } from "./call.ts";
import type { Scope } from "./scope.ts";

/** Returns (closes) a stream that will never be read, so that its plugin can dispose of its resources. Never throws and does not wait. */
export function abandon(stream: AsyncIterable<TierEvent>, scope: Scope): void {
  inScope(scope, async () => stream[Symbol.asyncIterator]().return?.()).catch(() => {});
}
