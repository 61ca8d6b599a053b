import { type DragEvent, type KeyboardEvent, useRef, useState } from "react";
import { Button } from "../kit/button.tsx";
import { classes } from "../kit/class-names.ts";
import { Icon } from "../kit/icon.tsx";
import { FORMS } from "../words/forms.ts";
import { useForm, type ValueProps } from "./form-context.ts";
import { isFields, pathText } from "./form-path.ts";
import { emptyOf, kindOf, labelOf, shownValue } from "./schema-kinds.ts";

const SIMPLE: ReadonlySet<string> = new Set(["text", "number", "boolean", "enum"]);
const MOST_OPEN = 3;

/** A list: rows with a handle (or Alt with the arrow keys), a cross, and one to add. Entries with fields are folded where there are many. */
export function ListControl({ schema, value, path, name, depth, labelId, onChange }: ValueProps) {
  const { errors, readOnly, parts } = useForm();
  const list = Array.isArray(value) ? (value as readonly unknown[]) : [];
  const items = schema.items ?? {};
  const kind = kindOf(items, name);
  const simple = SIMPLE.has(kind);
  const [dragged, setDragged] = useState<number>();
  const [spoken, setSpoken] = useState("");
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const box = useRef<HTMLDivElement>(null);
  const focusAt = (at: number) =>
    requestAnimationFrame(() =>
      box.current
        ?.querySelectorAll<HTMLElement>(":scope > .form-entry")
        [at]?.querySelector<HTMLElement>("input,select,textarea,[role=switch],.form-entry-fold,.form-handle")
        ?.focus(),
    );
  const put = (next: readonly unknown[]) => onChange(next.length === 0 && schema.default === undefined && value === undefined ? undefined : next);
  const move = (from: number, to: number) => {
    if (to < 0 || to >= list.length || from === to) return;
    const next = list.filter((_, at) => at !== from);
    next.splice(to, 0, list[from]);
    put(next);
    setSpoken(FORMS.moved(titleOf(list[from], from), to + 1));
    focusAt(to);
  };
  const byKey = (at: number) => (event: KeyboardEvent) => {
    if (!event.altKey || readOnly || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    event.stopPropagation();
    move(at, at + (event.key === "ArrowUp" ? -1 : 1));
  };
  const label = labelOf(name, schema).toLowerCase();
  const what = /[^s]s$/.test(label) ? singular(label) : FORMS.entry;
  const add = () => {
    put([...list, emptyOf(items)]);
    setOpened(new Set([...opened, list.length]));
    focusAt(list.length);
  };
  return (
    <div ref={box} className="form-list" role="group" aria-labelledby={labelId}>
      {list.map((entry, at) => {
        const place = [...path, at];
        const text = pathText(place);
        const here = errors.filter((error) => error.path === text);
        const below = errors.some((error) => error.path.startsWith(text));
        const open = simple || list.length <= MOST_OPEN || opened.has(at) || below;
        const title = titleOf(entry, at);
        return (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: entries of a list have no other name
            key={at}
            role="group"
            aria-label={title}
            className={classes("form-entry", !simple && "form-entry-wide", dragged === at && "form-entry-dragged")}
            onKeyDown={byKey(at)}
            onDragOver={(event: DragEvent) => dragged !== undefined && event.preventDefault()}
            onDrop={(event: DragEvent) => {
              event.preventDefault();
              if (dragged !== undefined) move(dragged, at);
              setDragged(undefined);
            }}
          >
            <div className="form-entry-head">
              {!readOnly && list.length > 1 && (
                <button
                  type="button"
                  className="form-handle"
                  draggable
                  aria-label={FORMS.move(title)}
                  title={FORMS.move(title)}
                  onDragStart={() => setDragged(at)}
                  onDragEnd={() => setDragged(undefined)}
                  onKeyDown={(event) => {
                    if (event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
                    event.preventDefault();
                    move(at, at + (event.key === "ArrowUp" ? -1 : 1));
                  }}
                >
                  <Icon name="drag" />
                </button>
              )}
              {simple ? (
                <parts.Value
                  schema={items}
                  value={entry}
                  path={place}
                  depth={depth + 1}
                  name={name}
                  kind={kind === "enum" || kind === "number" || kind === "boolean" ? kind : "text"}
                  control={{
                    id: `${text}-entry`,
                    "aria-describedby": undefined,
                    "aria-invalid": here.length > 0 ? true : undefined,
                    ...({ "aria-label": `${what} ${at + 1}` } as object),
                  }}
                  onChange={(next) => put(list.with(at, next ?? ""))}
                />
              ) : (
                <button
                  type="button"
                  className="form-entry-fold"
                  aria-expanded={open}
                  onClick={() => setOpened(new Set(open ? [...opened].filter((one) => one !== at) : [...opened, at]))}
                >
                  <span className="cut">{title}</span>
                </button>
              )}
              {!readOnly && <Button kind="plain" icon="close" aria-label={FORMS.remove(title)} onClick={() => put(list.filter((_, other) => other !== at))} />}
            </div>
            {!simple && open && (
              <div className="form-entry-body">
                <parts.Value
                  schema={items}
                  value={entry}
                  path={place}
                  depth={depth + 1}
                  name={name}
                  kind={kind}
                  control={{ id: `${text}-entry`, "aria-describedby": undefined, "aria-invalid": undefined, "aria-label": title }}
                  onChange={(next) => put(list.with(at, next))}
                />
              </div>
            )}
            {here.map(({ message }) => (
              <p key={message} className="form-error">
                {message}
              </p>
            ))}
          </div>
        );
      })}
      {!readOnly && (
        <Button kind="plain" icon="add" className="form-add" onClick={add}>
          {FORMS.add(article(what))}
        </Button>
      )}
      <span className="unseen" role="status">
        {spoken}
      </span>
    </div>
  );
}

/** Returns the title of an entry: the first of its fields that names it. */
export function titleOf(entry: unknown, at: number): string {
  if (!isFields(entry)) return entry === "" || entry === undefined ? `${at + 1}` : shownValue(entry);
  const key = ["name", "title", "id", "label", "url", "pattern", "contact", "project", "repo", "agentId", "agent"].find(
    (one) => typeof entry[one] === "string" && entry[one] !== "",
  );
  return key === undefined ? `${at + 1}` : String(entry[key]);
}

const singular = (words: string): string => words.replace(/ies$/, "y").replace(/(ss|us)$|s$/, "$1");
const article = (words: string): string => (words === FORMS.entry ? `an ${words}` : /^[aeiou]/.test(words) ? `an ${words}` : `a ${words}`);
