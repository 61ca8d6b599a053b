import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { AgentMark } from "../kit/agent-mark.tsx";
import { classes } from "../kit/class-names.ts";
import { Glyph } from "../kit/glyph.tsx";
import { Icon } from "../kit/icon.tsx";
import { SHELL } from "../words/shell.ts";
import { chosen, noteUse, type PaletteItem, readTyped, usePaletteItems } from "./palette-items.ts";

/** Goes to a page, an agent, a task, or runs a command, by a few letters. */
export function Palette({ open, onClose }: { readonly open: boolean; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    if (!open || element === null) return undefined;
    const opener = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      className="shell-palette"
      aria-label={SHELL.search}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <PaletteBody onClose={onClose} />
    </dialog>
  );
}

function PaletteBody({ onClose }: { onClose(): void }) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const groups = chosen(usePaletteItems(true), typed);
  const items = groups.flatMap(([, inGroup]) => inGroup);
  const current = Math.min(at, items.length - 1);
  useEffect(() => {
    list.current?.querySelector(`[id="${CSS.escape(`${id}-${current}`)}"]`)?.scrollIntoView({ block: "nearest" });
  }, [current, id]);
  const run = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    noteUse(item);
    onClose();
    // After the focus has gone back, so that what opens takes it.
    setTimeout(() => item.run());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: current + 1, ArrowUp: current - 1 + items.length, PageDown: current + 5, PageUp: current - 5 }[event.key];
    if (to !== undefined && items.length > 0) setAt(event.key.startsWith("Page") ? Math.max(0, Math.min(items.length - 1, to)) : to % items.length);
    else if (event.key === "Enter") run(items[current]);
    else return;
    event.preventDefault();
  };
  let index = -1;
  return (
    <>
      <div className="shell-palette-head">
        <Icon name="search" />
        <input
          className="shell-palette-input"
          type="text"
          role="combobox"
          aria-label={SHELL.search}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={items.length === 0 ? undefined : `${id}-${current}`}
          aria-autocomplete="list"
          placeholder={SHELL.searchHint}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <kbd>Esc</kbd>
      </div>
      <div ref={list} id={`${id}-list`} className="shell-palette-list" role="listbox" aria-label={SHELL.search}>
        {groups.map(([group, inGroup]) => (
          <div key={group} role="group" aria-label={group}>
            <div className="shell-palette-group" aria-hidden="true">
              {group}
            </div>
            {inGroup.map((item) => {
              index += 1;
              const own = index;
              return (
                <Line
                  key={item.id}
                  id={`${id}-${own}`}
                  item={item}
                  words={readTyped(typed).words}
                  here={own === current}
                  onPoint={() => setAt(own)}
                  onRun={() => run(item)}
                />
              );
            })}
          </div>
        ))}
      </div>
      {items.length === 0 && (
        <p className="shell-palette-none" role="status">
          {SHELL.nothingFound(typed)}
        </p>
      )}
    </>
  );
}

interface LineProps {
  readonly id: string;
  readonly item: PaletteItem;
  readonly words: string;
  readonly here: boolean;
  onPoint(): void;
  onRun(): void;
}

function Line({ id, item: { agent, icon, title, note, state, key }, words, here, onPoint, onRun }: LineProps) {
  return (
    <div
      id={id}
      role="option"
      aria-selected={here}
      tabIndex={-1}
      className={classes("shell-palette-line", here && "shell-palette-here")}
      onPointerMove={onPoint}
      onClick={onRun}
    >
      <Icon name={icon} />
      {agent !== undefined && <AgentMark agent={agent} size={14} />}
      <bdi className="cut grow">
        <Marked text={title} words={words} />
      </bdi>
      {state !== undefined && <Glyph state={state} />}
      {note !== undefined && <bdi className="shell-palette-note cut">{note}</bdi>}
      {key !== undefined && <kbd>{key}</kbd>}
    </div>
  );
}

/** A text with what was typed in it in bold. */
function Marked({ text, words }: { readonly text: string; readonly words: string }) {
  const at = words === "" ? -1 : text.toLowerCase().indexOf(words.toLowerCase());
  if (at < 0) return text;
  return (
    <>
      {text.slice(0, at)}
      <strong>{text.slice(at, at + words.length)}</strong>
      {text.slice(at + words.length)}
    </>
  );
}
