import { type InputHTMLAttributes, type KeyboardEvent, type ReactNode, type Ref, useId } from "react";
import { KIT } from "../words/kit.ts";
import { Button } from "./button.tsx";
import { classes } from "./class-names.ts";
import { Icon } from "./icon.tsx";

/** Attributes of a control in a field that connect it with label, hint and error for screen readers. */
export interface FieldControl {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

/** A label, its control, one sentence about it and its error. */
export function Field({
  label,
  hint,
  error,
  children,
  className,
}: {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  /** Instruction to fix it, with an example. */
  readonly error?: ReactNode;
  children(control: FieldControl): ReactNode;
  readonly className?: string;
}) {
  const id = useId();
  const about = [error !== undefined && `${id}-error`, hint !== undefined && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div className={classes("kit-field", error !== undefined && "kit-field-wrong", className)}>
      <label className="kit-field-label" htmlFor={id}>
        {label}
      </label>
      {children({ id, "aria-describedby": about || undefined, "aria-invalid": error !== undefined ? true : undefined })}
      {error !== undefined && (
        <p id={`${id}-error`} className="kit-field-error">
          <Icon name="warn" size={14} />
          <span>{error}</span>
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="kit-field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/** A line of text to type into. */
export function TextInput({ className, ref, ...rest }: InputHTMLAttributes<HTMLInputElement> & { readonly ref?: Ref<HTMLInputElement> }) {
  return <input autoComplete="off" spellCheck={false} {...rest} ref={ref} className={classes("kit-input", className)} />;
}

/** The filter of a list: `/` puts the cursor into it where the page says so, Escape empties it. */
export function SearchBox({
  value,
  onChange,
  label = KIT.filter,
  placeholder,
  ref,
  onKeyDown,
}: {
  readonly value: string;
  onChange(value: string): void;
  readonly label?: string;
  readonly placeholder?: string;
  readonly ref?: Ref<HTMLInputElement>;
  onKeyDown?(event: KeyboardEvent<HTMLInputElement>): void;
}) {
  return (
    <div className="kit-search">
      <Icon name="search" size={14} />
      <input
        ref={ref}
        className="kit-search-input"
        type="text"
        role="searchbox"
        aria-label={label}
        placeholder={placeholder ?? label}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          onKeyDown?.(event);
          if (event.key !== "Escape" || event.defaultPrevented) return;
          event.preventDefault();
          if (value === "") event.currentTarget.blur();
          else onChange("");
        }}
      />
      {value !== "" && <Button kind="plain" icon="close" aria-label={KIT.clear} onClick={() => onChange("")} />}
    </div>
  );
}
