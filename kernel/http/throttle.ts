import { isIPv6 } from "node:net";

/** Counts unknown bearers, to stop guessing. */
export interface Throttle {
  /** Seconds to wait before this address may try a bearer again; undefined when it may now. */
  wait(address: string): number | undefined;
  failed(address: string): void;
  succeeded(address: string): void;
}

/** Number of failed proofs before an address, or all unproven callers, have to wait. */
export interface ThrottleLimits {
  /** Failures of one address (of one /64 for IPv6) in a window. */
  readonly perAddress: number;
  /** Failures of all addresses in a window; above it, only addresses that have proved themselves before may try. */
  readonly total: number;
  readonly windowMs: number;
}

const TRUSTED = 1_000;

/**
 * Fixed windows: the whole table is cleared when one ends, so its size is bounded by `total`. `now` is monotonic. The calling code excludes this
 * machine's own requests: they are never locked out.
 */
export function createThrottle(
  { perAddress, total, windowMs }: ThrottleLimits = { perAddress: 20, total: 500, windowMs: 60_000 },
  now: () => number = () => performance.now(),
): Throttle {
  const failures = new Map<string, number>();
  const proven = new Set<string>();
  let sum = 0;
  let ends = 0;

  const turn = () => {
    if (now() < ends) return;
    failures.clear();
    sum = 0;
    ends = now() + windowMs;
  };

  return {
    wait(address) {
      turn();
      const key = networkOf(address);
      const over = (failures.get(key) ?? 0) >= perAddress || (sum >= total && !proven.has(key));
      return over ? Math.max(1, Math.ceil((ends - now()) / 1000)) : undefined;
    },
    failed(address) {
      turn();
      const key = networkOf(address);
      failures.set(key, (failures.get(key) ?? 0) + 1);
      sum += 1;
    },
    succeeded(address) {
      const key = networkOf(address);
      if (proven.has(key)) return;
      if (proven.size >= TRUSTED) proven.delete(proven.values().next().value as string);
      proven.add(key);
    },
  };
}

/** An IPv6 host owns a whole /64: counting single addresses would give it any number of tries. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = "", tail] = address.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const groups = tail === undefined ? left : [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
