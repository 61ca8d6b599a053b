import { useEffect, useState } from "react";
import { TextInput } from "../kit/field.tsx";
import { FORMS } from "../words/forms.ts";
import { useForm, type ValueProps } from "./form-context.ts";
import { hintOf } from "./schema-kinds.ts";
import { unitOf } from "./schema-units.ts";

/** A number field: typed text stays as typed, arrows step; text that is not a number yet is passed on unchanged, so that the server reports the error. */
export function NumberControl({ schema, value, name, control, onChange }: ValueProps) {
  const { readOnly } = useForm();
  const [typed, setTyped] = useState(() => textOf(value));
  useEffect(() => setTyped((now) => (same(now, value) ? now : textOf(value))), [value]);
  const change = (text: string) => {
    setTyped(text);
    const number = read(text);
    onChange(text.trim() === "" ? undefined : (number ?? text));
  };
  const step = (by: number) => {
    const from = read(typed) ?? (typeof schema.default === "number" ? schema.default : (schema.minimum ?? 0));
    const next = Math.min(schema.maximum ?? Number.MAX_SAFE_INTEGER, Math.max(schema.minimum ?? Number.MIN_SAFE_INTEGER, from + by));
    change(String(next));
  };
  const unit = unitOf(name, schema);
  const stray = typed.trim() !== "" && read(typed) === undefined;
  return (
    <span className="form-number">
      <TextInput
        {...control}
        aria-invalid={control["aria-invalid"] ?? (stray || undefined)}
        inputMode={schema.type === "integer" ? "numeric" : "decimal"}
        value={typed}
        readOnly={readOnly}
        placeholder={hintOf(schema.default)}
        onChange={(event) => change(event.target.value)}
        onKeyDown={(event) => {
          if (readOnly || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
          event.preventDefault();
          step((event.key === "ArrowUp" ? 1 : -1) * (event.shiftKey ? 10 : 1));
        }}
      />
      {unit !== "" && <span className="form-unit">{unit}</span>}
      {stray && <span className="unseen">{FORMS.number}</span>}
    </span>
  );
}

const textOf = (value: unknown): string => (value === undefined || value === null ? "" : String(value));

function read(text: string): number | undefined {
  const number = Number(text.trim());
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) && Number.isFinite(number) ? number : undefined;
}

const same = (text: string, value: unknown): boolean => text === textOf(value) || (typeof value === "number" && read(text) === value);
