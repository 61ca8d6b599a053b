import { useEffect, useState } from "react";
import { retryNow, useConnection } from "../data/live.ts";
import { useMe } from "../data/me.ts";
import { Button } from "../kit/button.tsx";
import { useNow } from "../kit/clock.ts";
import { clock } from "../kit/figures.ts";
import { Icon } from "../kit/icon.tsx";
import { SHELL } from "../words/shell.ts";

/** A stream that is back within that time was never missed. */
const PATIENCE_MS = 3_000;

/** Warns that the shown data is stale, since when, and when the next retry is. */
export function StaleBar() {
  const { state, since, nextTryAt } = useConnection();
  // Of a daemon behind this program, why it does not answer.
  const me = useMe();
  const { problem, offline } = me.data ?? {};
  const lost = state === "lost";
  const { reload } = me;
  useEffect(() => {
    if (lost) reload();
  }, [lost, reload]);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!lost) return undefined;
    const timer = setTimeout(() => setLate(true), Math.max(0, since + PATIENCE_MS - Date.now()));
    return () => clearTimeout(timer);
  }, [lost, since]);
  const now = useNow(late);
  if (!late || !lost) return <div role="status" className="unseen" />;
  const seconds = nextTryAt === undefined ? undefined : Math.max(0, Math.ceil((nextTryAt - now) / 1000));
  return (
    <section className="shell-stale" aria-label={SHELL.notConnected}>
      <Icon name="offline" />
      <p className="grow">
        <strong role="status">{SHELL.lostSince(clock(since))}</strong> {problem ?? SHELL.lostMeans} {offline !== undefined && SHELL.offline(offline.file)}{" "}
        {seconds === undefined ? "" : seconds === 0 ? SHELL.trying : SHELL.nextTry(seconds)}
      </p>
      <Button onClick={retryNow}>{SHELL.tryNow}</Button>
    </section>
  );
}
