import type { TierEvent } from "@svc/sdk";
import { inScope } from "./call.ts";
import type { Scope } from "./scope.ts";

/** Tells a stream that nobody will ever read that it is over, so that its plugin can put away what stands behind it. Never throws and waits for nothing. */
export function abandon(stream: AsyncIterable<TierEvent>, scope: Scope): void {
  inScope(scope, async () => stream[Symbol.asyncIterator]().return?.()).catch(() => {});
}
