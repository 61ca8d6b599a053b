import { type Agent, type Envelope, type Subscription, subscribes } from "@svc/sdk";

/** An agent's subscriptions of one kind of delivery; `pull` when an entry names none. */
export function subscriptionsOf(agent: Agent, delivery: NonNullable<Subscription["delivery"]>): readonly Subscription[] {
  const all = (agent.settings.subscriptions ?? []) as readonly Subscription[];
  return all.filter((subscription) => (subscription.delivery ?? "pull") === delivery);
}

/** One line for a model: when, where, what. */
export const lineOf = ({ at, node, type, summary }: Envelope): string => `${at.slice(0, 16).replace("T", " ")} ${node} ${type}: ${summary}`;

/** Whether an event matches any of the subscriptions. */
export const concerns = (subscriptions: readonly Subscription[], envelope: Envelope): boolean =>
  subscriptions.some((subscription) => subscribes(subscription, envelope));
