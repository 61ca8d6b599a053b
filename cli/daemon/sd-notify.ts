/**
 * Notifies systemd (sd_notify(3)): READY=1 once the API answers, WATCHDOG=1 at half the interval while healthy, STOPPING=1 at the end. No effect
 * without NOTIFY_SOCKET. Node has no unix datagram sockets, so the message is sent by systemd's own systemd-notify.
 */
function notify(state: string): void {
  if (process.env.NOTIFY_SOCKET === undefined) return;
  // Not imported: without systemd nothing here starts a process.
  const { spawn } = process.getBuiltinModule("node:child_process");
  spawn("systemd-notify", [`--pid=${process.pid}`, state], { stdio: "ignore" }).on("error", () => {});
}

/** Reports to systemd that the daemon serves. Does nothing without `NOTIFY_SOCKET`. */
export const notifyReady = (): void => notify("READY=1");
/** Reports to systemd that the daemon is shutting down. Does nothing without `NOTIFY_SOCKET`. */
export const notifyStopping = (): void => notify("STOPPING=1");

/** Keep-alives for as long as `healthy` says so. Returns the way to stop. */
export function startWatchdog(healthy: () => boolean): () => void {
  const interval = Number(process.env.WATCHDOG_USEC ?? 0) / 2_000;
  if (process.env.NOTIFY_SOCKET === undefined || !(interval > 0)) return () => {};
  const timer = setInterval(() => {
    if (healthy()) notify("WATCHDOG=1");
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
