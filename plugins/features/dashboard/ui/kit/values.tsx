import { type ReactNode, useState } from "react";
import { KIT } from "../words/kit.ts";
import { classes } from "./class-names.ts";
import { useNow } from "./clock.ts";
import { ago, bytes, cost, count, duration, when } from "./figures.ts";

type Moment = number | string;
const timeOf = (at: Moment): number => (typeof at === "number" ? at : Date.parse(at));

/** Relative time, kept up to date; the exact time in the tooltip. With `clock` as time of day. */
export function Ago({ at, clock = false }: { readonly at: Moment; readonly clock?: boolean }) {
  const time = timeOf(at);
  const now = useNow(!clock);
  if (Number.isNaN(time)) return null;
  const iso = new Date(time).toISOString();
  return (
    <time className="kit-time" dateTime={iso} title={iso}>
      {clock ? when(time) : ago(time, now)}
    </time>
  );
}

/** A duration, or the time since `from`. */
export function Duration({ ms, from, to }: { readonly ms?: number | undefined; readonly from?: Moment | undefined; readonly to?: Moment | undefined }) {
  const runs = ms === undefined && to === undefined && from !== undefined;
  const now = useNow(runs);
  const value = ms ?? (from === undefined ? undefined : (to === undefined ? now : timeOf(to)) - timeOf(from));
  return value === undefined || Number.isNaN(value) ? null : <span className="kit-duration">{duration(value)}</span>;
}

/** A number of things; `short` from ten thousand on, the whole in the tip. */
export function Count({ value, short = false }: { readonly value: number; readonly short?: boolean }) {
  return <span title={short ? count(value) : undefined}>{count(value, short)}</span>;
}

/** A size. */
export function Bytes({ value }: { readonly value: number }) {
  return <span title={`${count(value)} bytes`}>{bytes(value)}</span>;
}

/** Money; unknown is said, and never 0. */
export function Cost({ usd, unknown = KIT.noPrice }: { readonly usd: number | undefined; readonly unknown?: ReactNode }) {
  return usd === undefined ? <span className="kit-unknown">{unknown}</span> : <span title={`$${usd}`}>{cost(usd)}</span>;
}

/** An id, a path or a key; a click copies it. */
export function Mono({ children, value, plain = false }: { readonly children: ReactNode; readonly value?: string; readonly plain?: boolean }) {
  const [copied, setCopied] = useState(false);
  const text = value ?? (typeof children === "string" ? children : undefined);
  if (plain || text === undefined) return <span className="mono">{children}</span>;
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className={classes("kit-mono", copied && "kit-mono-copied")} title={copied ? KIT.copied : `${KIT.copy} ${text}`} onClick={copy}>
      <bdi>{children}</bdi>
      <span className="unseen" aria-live="polite">
        {copied ? KIT.copied : ""}
      </span>
    </button>
  );
}

/** Puts a text into the clipboard; by the old way where the page is not served securely. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined && globalThis.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  const host = document.querySelector("dialog:modal") ?? document.body;
  host.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
