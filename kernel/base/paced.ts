/**
 * Throttles `work`: one run at a time and at most one in `gapMs`; calls during a run, or too soon after its begin, are coalesced into one further
 * run. It must not fail. The timer keeps no process alive.
 */
export function paced(work: () => Promise<void>, gapMs: number): () => void {
  let began = Number.NEGATIVE_INFINITY;
  let state: "idle" | "waits" | "runs" | "again" = "idle";
  const run = async () => {
    state = "runs";
    began = performance.now();
    await work();
    if ((state as string) === "again") later();
    else state = "idle";
  };
  const later = () => {
    state = "waits";
    setTimeout(() => void run(), Math.max(0, began + gapMs - performance.now())).unref();
  };
  return () => {
    if (state === "idle") later();
    else if (state === "runs") state = "again";
  };
}
