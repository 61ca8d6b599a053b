import { FORMS } from "../words/forms.ts";
import type { ControlNames } from "./form-context.ts";

/** On or off, with the word beside it. */
export function Switch({
  on,
  control,
  readOnly = false,
  onChange,
}: {
  readonly on: boolean;
  readonly control: Partial<ControlNames>;
  readonly readOnly?: boolean;
  onChange(on: boolean): void;
}) {
  return (
    <span className="form-switch">
      <button
        {...control}
        type="button"
        role="switch"
        className="form-switch-button"
        aria-checked={on}
        aria-disabled={readOnly || undefined}
        onClick={() => readOnly || onChange(!on)}
      >
        <span className="form-switch-knob" />
      </button>
      <span aria-hidden="true">{on ? FORMS.on : FORMS.off}</span>
    </span>
  );
}
