import { randomUUID } from "node:crypto";

/** An event on its way to a hook, and how it went. */
export interface HookDelivery {
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The comment, issue or request that it tells of, as `comment:17`. */
  readonly about: string;
  /** What the receiver answered; 0: no answer in time. Unset: not sent yet. */
  status?: number;
}

/** Hooks of a forge, and what a test may do to their deliveries. */
export interface HookControl {
  /** From now on events are sent there. The secret is what this forge's hooks prove themselves with. */
  add(url: string, secret: string, options?: { readonly signature?: boolean }): void;
  readonly deliveries: readonly HookDelivery[];
  /** `on`, or a hook is off because of its failures: until a time in Unix milliseconds, or for good. */
  readonly state: "on" | { readonly offUntil: number };
  /** Resolves once nothing is on its way. */
  settled(): Promise<void>;
  /** Keeps deliveries back until `release`. */
  hold(): void;
  /** Sends what was kept back, by default in its order. */
  release(order?: (kept: readonly HookDelivery[]) => readonly HookDelivery[]): Promise<void>;
  /** Sends it once more: under the same id, or as another delivery of the same event. */
  redeliver(delivery: HookDelivery, options?: { readonly fresh?: boolean }): Promise<HookDelivery>;
  /** What happens while they are switched off is told to nobody. */
  switch(on: boolean): void;
  /** Each delivery waits so long, in milliseconds. */
  delay: number;
}

/** What differs between forges. */
export interface HookRules {
  /** Headers of a delivery beside the content type. */
  headers(facts: {
    readonly id: string;
    readonly event: string;
    readonly secret: string;
    readonly body: string;
    readonly signature: boolean;
    readonly at: number;
  }): Readonly<Record<string, string>>;
  /** How long hooks are off after so many failures in a row, in milliseconds; `Infinity`: for good. Undefined: they stay on. */
  offFor?(failures: number): number | undefined;
  /** How long the receiver has, in milliseconds. */
  readonly timeoutMs: number;
  now(): number;
}

/** The hooks of one forge: `tell` sends an event to all of them. */
export interface Hooks extends HookControl {
  tell(event: string, about: string, payload: unknown): void;
  close(): Promise<void>;
}

/** Makes the hooks of a forge. */
export function createHooks(rules: HookRules): Hooks {
  /** Each is switched off by its own failures. */
  const targets: { url: string; secret: string; signature: boolean; failures: number; offUntil: number }[] = [];
  const deliveries: HookDelivery[] = [];
  /** What each delivery was made of, to make it afresh. */
  const origins = new Map<HookDelivery, { event: string; target: (typeof targets)[number] }>();
  const underway = new Set<Promise<unknown>>();
  const abort = new AbortController();
  let kept: HookDelivery[] | undefined;
  let on = true;

  function make(event: string, about: string, body: string, target: (typeof targets)[number], id: string): HookDelivery {
    const signed = rules.headers({ id, event, body, secret: target.secret, signature: target.signature, at: rules.now() });
    const delivery: HookDelivery = { id, url: target.url, about, body, headers: { "content-type": "application/json", ...signed } };
    deliveries.push(delivery);
    origins.set(delivery, { event, target });
    return delivery;
  }

  async function post(delivery: HookDelivery): Promise<void> {
    if (control.delay > 0) await new Promise((resolve) => setTimeout(resolve, control.delay));
    try {
      const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(rules.timeoutMs)]);
      const answer = await fetch(delivery.url, { method: "POST", headers: delivery.headers, body: delivery.body, redirect: "manual", signal });
      delivery.status = answer.status;
      await answer.arrayBuffer();
    } catch {
      delivery.status ??= 0;
    }
    const target = origins.get(delivery)?.target;
    if (target === undefined) return;
    target.failures = delivery.status >= 200 && delivery.status < 300 ? 0 : target.failures + 1;
    const off = target.failures === 0 ? undefined : rules.offFor?.(target.failures);
    if (off !== undefined) target.offUntil = rules.now() + off;
  }

  function send(delivery: HookDelivery): Promise<void> {
    const sending = post(delivery).finally(() => underway.delete(sending));
    underway.add(sending);
    return sending;
  }

  const control: Hooks = {
    deliveries,
    delay: 0,
    add: (url, secret, { signature = false } = {}) => void targets.push({ url, secret, signature, failures: 0, offUntil: 0 }),
    get state() {
      const offUntil = Math.max(0, ...targets.map((target) => target.offUntil));
      return offUntil > rules.now() ? { offUntil } : "on";
    },
    async settled() {
      while (underway.size > 0) await Promise.all(underway);
    },
    hold() {
      kept ??= [];
    },
    async release(order = (list) => list) {
      const list = kept ?? [];
      kept = undefined;
      // One after the other: the order is what the test asked for.
      for (const delivery of order(list)) await send(delivery);
    },
    async redeliver(delivery, { fresh = false } = {}) {
      const { event, target } = origins.get(delivery) as { event: string; target: (typeof targets)[number] };
      const again = make(event, delivery.about, delivery.body, target, fresh ? randomUUID() : delivery.id);
      await send(again);
      return again;
    },
    switch(wanted) {
      on = wanted;
    },
    tell(event, about, payload) {
      if (!on) return;
      const body = JSON.stringify(payload);
      for (const target of targets) {
        if (target.offUntil > rules.now()) continue;
        const delivery = make(event, about, body, target, randomUUID());
        if (kept === undefined) void send(delivery);
        else kept.push(delivery);
      }
    },
    async close() {
      abort.abort();
      await control.settled();
    },
  };
  return control;
}
