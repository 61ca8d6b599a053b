/** `8.4 s`, `1 min 12 s`, `2 h 5 min`, `3 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 0.05) return `${Math.round(Math.max(0, ms))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60) % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d`;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
/** `1,204`; with `short` from ten thousand on `218 k`. */
export function count(value: number, short = false): string {
  if (!short || value < 10_000) return whole.format(value);
  if (value < 1e6) return `${whole.format(value / 1e3)} k`;
  return value < 1e9 ? `${(value / 1e6).toFixed(1)} M` : `${(value / 1e9).toFixed(1)} G`;
}

/** `812 B`, `14 KB`, `2.3 MB`. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1e6) return `${whole.format(value / 1e3)} KB`;
  return value < 1e9 ? `${(value / 1e6).toFixed(1)} MB` : `${(value / 1e9).toFixed(1)} GB`;
}

/** US dollars as `19.4 ct` or `$12.30`. */
export function cost(usd: number): string {
  return usd < 1 ? `${(usd * 100).toFixed(usd < 0.1 ? 2 : 1)} ct` : `$${usd.toFixed(2)}`;
}

const pad = (value: number) => String(value).padStart(2, "0");
/** `14:32:07`, in this place's time. */
export function clock(at: number | string | Date, seconds = true): string {
  const date = new Date(at);
  return `${pad(date.getHours())}:${pad(date.getMinutes())}${seconds ? `:${pad(date.getSeconds())}` : ""}`;
}

const DAY_MS = 86_400_000;
const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });

/** Today `14:32`, before that `21 Nov 14:32`, of other years `21 Nov 2025`. */
export function when(at: number | string | Date, now = Date.now()): string {
  const date = new Date(at);
  const today = new Date(now);
  if (date.toDateString() === today.toDateString()) return clock(date, false);
  return date.getFullYear() === today.getFullYear() ? `${day.format(date)} ${clock(date, false)}` : dayOfYear.format(date);
}

/** `now`, `4 min ago`, `in 2 h`, `3 d ago`. */
export function ago(at: number, now: number): string {
  const ms = now - at;
  const far = Math.abs(ms);
  if (far < 5_000) return "now";
  const text =
    far < 60_000
      ? `${Math.floor(far / 1000)} s`
      : far < 3_600_000
        ? `${Math.floor(far / 60_000)} min`
        : far < 2 * DAY_MS
          ? `${Math.floor(far / 3_600_000)} h`
          : `${Math.floor(far / DAY_MS)} d`;
  return ms > 0 ? `${text} ago` : `in ${text}`;
}
