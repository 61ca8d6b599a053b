import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { KIT } from "../words/kit.ts";
import { classes } from "./class-names.ts";
import type { FieldControl } from "./field.tsx";
import { Icon } from "./icon.tsx";

/** One value that a combobox offers. */
export interface Option {
  readonly id: string;
  readonly label: string;
  /** At the right: a state, a kind. */
  readonly note?: ReactNode;
}

const MOST_SHOWN = 200;

/** A combobox: one value out of many, filtered by the typed text. With `free`, the typed text counts as well. */
export function Combobox({
  options,
  value,
  onChange,
  control,
  label,
  free = false,
  placeholder,
}: {
  readonly options: readonly Option[];
  readonly value: string | undefined;
  onChange(id: string | undefined): void;
  /** Of the field around it. */
  readonly control?: FieldControl;
  readonly label?: string;
  readonly free?: boolean;
  readonly placeholder?: string;
}) {
  const list = useId();
  const [typed, setTyped] = useState<string>();
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const wanted = typed?.toLowerCase() ?? "";
  const fits = options.filter(({ id, label: text }) => id.toLowerCase().includes(wanted) || text.toLowerCase().includes(wanted)).slice(0, MOST_SHOWN);
  const open = typed !== undefined;
  const choose = (id: string | undefined) => {
    onChange(id);
    setTyped(undefined);
  };
  const leave = () => {
    if (typed === undefined) return;
    if (typed === "") choose(undefined);
    else if (free) choose(options.find(({ label: text }) => text === typed)?.id ?? typed);
    else setTyped(undefined);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) setTyped("");
      else setAt((now) => (now + (event.key === "ArrowDown" ? 1 : fits.length - 1)) % Math.max(1, fits.length));
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      if (fits[at] !== undefined && !(free && typed !== "" && fits[at].label !== typed && at === 0)) choose(fits[at].id);
      else leave();
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      setTyped(undefined);
    }
  };
  const shown = typed ?? options.find(({ id }) => id === value)?.label ?? value ?? "";
  return (
    <div className="kit-combobox">
      <input
        {...control}
        ref={input}
        className="kit-input"
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={open && fits[at] !== undefined ? `${list}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        value={shown}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onClick={() => open || setTyped("")}
        onBlur={leave}
        onKeyDown={onKeyDown}
      />
      <span className="kit-combobox-arrow">
        <Icon name="down" />
      </span>
      <div id={list} role="listbox" aria-label={label ?? KIT.filter} className={classes("kit-options", !open && "kit-options-closed")}>
        {open &&
          fits.map(({ id, label: text, note }, index) => (
            <div
              key={id}
              id={`${list}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              className="kit-option"
              // The input keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(id)}
              onKeyDown={() => {}}
            >
              <span className="cut grow">{text}</span>
              {note !== undefined && <span className="meta">{note}</span>}
            </div>
          ))}
        {open && fits.length === 0 && <div className="kit-option meta">{KIT.noOptions}</div>}
      </div>
    </div>
  );
}
