import type { Delivery, Log } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { Bus } from "../core/bus/bus.ts";
import type { GivenUp, OutboxDeps } from "./channel-queue.ts";
import { type OutboxEntry, openEntry } from "./outbox-entry.ts";

/** Dependencies of reports about the outbox's deliveries. */
export interface OutboxReportDeps {
  readonly bus: Pick<Bus, "publish" | "within">;
  readonly log: Log;
  readonly now: () => number;
  readonly ttlMinutes: number;
  /** Settles the wait of the caller who sent it: with the platform's id, or with an error. */
  settle(id: string, end: { readonly platformId: string } | Error): void;
  /** These were given up for their age. */
  expired(entries: readonly OutboxEntry[]): void;
  /** Called once for each delivery that the platform refused permanently, and once for all that expired together. */
  failed?(deliveries: readonly Delivery[], reason: string): void;
}

/** Callbacks for the outbox and the book of withheld deliveries. */
export interface OutboxReport extends Pick<OutboxDeps, "sent" | "failed" | "delayed"> {
  /** Withheld deliveries were given up: no decision came in time. */
  withheldExpired(entries: readonly OutboxEntry[]): void;
}

/** Words for the log. */
const GIVEN_UP: Readonly<Record<GivenUp, string>> = {
  refused: "a delivery failed for good",
  expired: "deliveries expired",
  uncertain: "a delivery is given up after doubtful sends: the platform may have taken it",
};

/** One event for a rate limit, however often the platform repeats it; again after as long a silence. */
const THROTTLE_NEWS_MS = 600_000;

/** Reports the state of deliveries to events, log and callers; never their text. */
export function createOutboxReport(deps: OutboxReportDeps): OutboxReport {
  const { bus, log, now } = deps;
  const throttledAt = new Map<string, number>();
  const inRoot = (entry: OutboxEntry, publish: () => void) => (entry.rootId === undefined ? publish() : bus.within({ rootId: entry.rootId }, publish));
  return {
    sent(entry, ids) {
      const { id, target, agent, taskId, kind } = entry.delivery;
      const platformId = ids[0] ?? "";
      inRoot(entry, () =>
        bus.publish({
          kind: "channel",
          type: "out",
          summary: `${kind} sent on ${target.channel}`,
          ref: platformId,
          ...(agent === undefined ? {} : { agentId: agent }),
          data: { channel: target.channel, delivery: id, messages: ids.length, ...(taskId === undefined ? {} : { taskId }) },
        }),
      );
      deps.settle(id, { platformId });
    },
    failed(entries, why, reason) {
      const first = entries[0] as OutboxEntry;
      const { channel } = first.delivery.target;
      log.warn({ channel, count: entries.length, delivery: first.delivery.id, reason }, GIVEN_UP[why]);
      const { taskId } = first.delivery;
      const one = entries.length === 1 ? { delivery: first.delivery.id, ...(taskId === undefined ? {} : { taskId }) } : {};
      const facts =
        why === "uncertain"
          ? { kind: "channel", type: "delivery:uncertain", data: { channel, ...one } }
          : { kind: "status", type: "status", data: { state: `delivery-${why}`, channel, count: entries.length, ...one } };
      const text =
        why === "expired"
          ? reason
          : why === "refused"
            ? `a delivery on ${channel} failed for good`
            : `it is not known whether a delivery on ${channel} arrived`;
      if (entries.length === 1) inRoot(first, () => bus.publish({ ...facts, summary: text }));
      else bus.publish({ ...facts, summary: text });
      const error =
        why === "expired"
          ? fail("SVC_DELIVERY_EXPIRED", { channel, minutes: deps.ttlMinutes })
          : fail(why === "refused" ? "SVC_CHANNEL_REFUSED" : "SVC_DELIVERY_UNCERTAIN", { channel, reason });
      for (const { delivery } of entries) deps.settle(delivery.id, error);
      if (why === "expired") deps.expired(entries);
      deps.failed?.(entries.map(openEntry), reason);
    },
    withheldExpired(entries) {
      for (const channel of new Set(entries.map(({ delivery }) => delivery.target.channel))) {
        const gone = entries.filter(({ delivery }) => delivery.target.channel === channel);
        const reason = `${gone.length} withheld ${gone.length === 1 ? "delivery" : "deliveries"} on ${channel} expired undecided`;
        log.warn({ channel, count: gone.length, delivery: gone[0]?.delivery.id }, reason);
        bus.publish({ kind: "status", type: "status", summary: reason, data: { state: "delivery-expired", channel, withheld: true, count: gone.length } });
        deps.failed?.(gone.map(openEntry), reason);
      }
    },
    delayed({ delivery }, { retryAfterMs }) {
      if (retryAfterMs === undefined) return;
      const { channel } = delivery.target;
      const since = throttledAt.get(channel) ?? Number.NEGATIVE_INFINITY;
      throttledAt.set(channel, now());
      if (now() - since < THROTTLE_NEWS_MS) return;
      log.warn({ channel, retryAfterMs }, "the platform limits our rate; deliveries wait");
      bus.publish({ kind: "status", type: "status", summary: `${channel} limits our rate; deliveries wait`, data: { state: "channel-throttled", channel } });
    },
  };
}
