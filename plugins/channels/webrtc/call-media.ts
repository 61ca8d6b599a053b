import { type CallEnd, type CallRequest, type Log, type Services, svcError } from "@svc/sdk";
import { createMediaThread } from "./media-thread.ts";
import { checkOffer } from "./offer.ts";
import { OpenCall } from "./open-call.ts";
import type { Settings } from "./settings.ts";

const MOST_CALLS = 20;

/** Dependencies of calls. */
export interface CallDeps {
  settings(): Settings;
  readonly services: Services;
  readonly log: Log;
}

/** All calls of this daemon. */
export interface Calls {
  open(request: CallRequest): Promise<CallEnd>;
  /** Ends all of them. */
  stop(): Promise<void>;
}

/** Loaded with the first call. */
export function createCalls(deps: CallDeps): Calls {
  const thread = createMediaThread((reason) => deps.log.error({ reason }, "the thread of calls has ended"));
  const open = new Map<string, OpenCall>();
  let numbers = 0;
  return {
    async open(request) {
      checkOffer(request.offer);
      if (open.has(request.id)) throw svcError("SVC_CALL_OFFER", `the call '${request.id}' has its offer already`, { status: 409 });
      if (open.size >= MOST_CALLS) throw svcError("SVC_CALL_MEDIA", `no call was taken: ${MOST_CALLS} are open on this daemon`, { status: 503 });
      numbers += 1;
      const number = numbers;
      const call = new OpenCall({
        ...{ number, request, deps },
        tell: thread.tell,
        left: () => {
          open.delete(request.id);
          thread.leave(number);
        },
      });
      open.set(request.id, call);
      thread.join(number, (event) => call.heard(event));
      return call.start();
    },
    async stop() {
      await Promise.all([...open.values()].map((call) => call.close("the daemon stops", 1_000)));
      await thread.stop();
    },
  };
}
