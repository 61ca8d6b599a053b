import { useEffect, useState } from "react";
import { FORMS } from "../words/forms.ts";
import { useForm, type ValueProps } from "./form-context.ts";
import { same } from "./form-path.ts";
import { RawLink } from "./raw-link.tsx";

/** A value that no other control fits: as JSON, and the way to where it stands in the text. */
export function RawControl({ value, path, control, onChange }: ValueProps) {
  const { readOnly, onRaw } = useForm();
  const [typed, setTyped] = useState(() => textOf(value));
  useEffect(() => setTyped((now) => (same(read(now), value) ? now : textOf(value))), [value]);
  const broken = typed.trim() !== "" && read(typed) === undefined;
  return (
    <div className="form-raw">
      <textarea
        {...control}
        aria-invalid={broken || control["aria-invalid"]}
        className="kit-input form-long mono"
        rows={Math.min(12, Math.max(2, typed.split("\n").length))}
        spellCheck={false}
        readOnly={readOnly}
        value={typed}
        onChange={(event) => {
          const text = event.target.value;
          setTyped(text);
          const next = text.trim() === "" ? undefined : read(text);
          if (text.trim() === "" || next !== undefined) onChange(next);
        }}
      />
      {broken && <p className="form-error">{FORMS.json}</p>}
      {onRaw !== undefined && <RawLink path={path} />}
    </div>
  );
}

const textOf = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
