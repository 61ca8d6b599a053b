import { useState } from "react";
import { KIT } from "../words/kit.ts";
import { Button } from "./button.tsx";
import { classes } from "./class-names.ts";
import { copyText } from "./values.tsx";

/** Number of lines of a long text that are shown at first. */
const SHOWN = 40;

/** A text or a value in fixed width: pretty where it is JSON, wrapped or not, copied by a button. Long ones show their last lines first. */
export function Code({
  text,
  json,
  label,
  lines: most = SHOWN,
}: {
  readonly text?: string;
  readonly json?: unknown;
  readonly label?: string;
  readonly lines?: number;
}) {
  const [wrap, setWrap] = useState(true);
  const [all, setAll] = useState(false);
  const [copied, setCopied] = useState(false);
  const whole = text === undefined ? (JSON.stringify(json, null, 2) ?? "") : pretty(text);
  const lines = whole.split("\n");
  const cut = !all && lines.length > most;
  const copy = async () => {
    await copyText(whole);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className="kit-code">
      <div className="kit-code-head">
        {label !== undefined && <span className="kit-code-label">{label}</span>}
        <span className="grow" />
        {lines.length > most && (
          <Button kind="plain" onClick={() => setAll(!all)}>
            {cut ? KIT.all(lines.length) : KIT.lastLines(most, lines.length)}
          </Button>
        )}
        <Button kind="plain" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
          {KIT.wrap}
        </Button>
        <Button kind="plain" icon="copy" onClick={copy}>
          {copied ? KIT.copied : KIT.copy}
        </Button>
      </div>
      <pre className={classes("kit-code-text", wrap && "kit-code-wrap")} tabIndex={0} role="region" aria-label={label ?? "Text"}>
        {(cut ? lines.slice(-most) : lines).join("\n")}
      </pre>
    </div>
  );
}

function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
