/** One message at the edge of the page: what happened, why, and one thing to do about it. */
export interface Toast {
  readonly id: number;
  readonly text: string;
  /** Message of the source. */
  readonly cause?: string;
  readonly action?: { readonly label: string; run(): void };
  /** `done` goes after 6 s unless it is looked at; `error` stays. */
  readonly kind: "done" | "error";
}

/** The most that are shown; the oldest done one goes first. */
const MOST = 3;

let shown: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function show(next: readonly Toast[]): void {
  shown = next;
  for (const listener of [...listeners]) listener();
}

/** Shows a message; gives the way to take it back. */
export function toast(given: Omit<Toast, "id" | "kind"> & { readonly kind?: Toast["kind"] }): () => void {
  last += 1;
  const id = last;
  const next = [...shown, { kind: "done" as const, ...given, id }];
  const victim = next.length > MOST ? (next.find(({ kind }) => kind === "done") ?? next[0]) : undefined;
  show(next.filter((one) => one !== victim));
  return () => dismissToast(id);
}

/** Takes a message away. */
export function dismissToast(id: number): void {
  show(shown.filter((one) => one.id !== id));
}

/** The messages that are shown, for the shell. */
export const toasts = {
  list: (): readonly Toast[] => shown,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
