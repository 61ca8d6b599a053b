import { useId, useRef, useState } from "react";
import { Button } from "../kit/button.tsx";
import { TextInput } from "../kit/field.tsx";
import { FORMS } from "../words/forms.ts";
import { type PartProps, useForm } from "./form-context.ts";
import { isFields, pathText, withValue } from "./form-path.ts";
import { emptyOf, kindOf, labelOf } from "./schema-kinds.ts";

const SIMPLE: ReadonlySet<string> = new Set(["text", "number", "boolean", "enum", "secret"]);

/** A map: rows of name and value; a name that is there already is refused when it is typed. */
export function MapControl({ schema, value, path, depth, name, onChange }: PartProps & { readonly name: string }) {
  const { readOnly, errors, parts } = useForm();
  const entries = Object.entries(isFields(value) ? value : {});
  const inner = isFields(schema.additionalProperties) ? schema.additionalProperties : {};
  const kind = kindOf(inner, name);
  const simple = SIMPLE.has(kind);
  const put = (key: string, next: unknown) => onChange(withValue(isFields(value) ? value : {}, [key], next));
  return (
    <div className="form-map">
      {entries.map(([key, entry]) => {
        const place = [...path, key];
        const text = pathText(place);
        const here = errors.filter((error) => error.path === text);
        const control = {
          id: `${text}-entry`,
          "aria-describedby": undefined,
          "aria-invalid": here.length > 0 ? (true as const) : undefined,
          ...({ "aria-label": key } as object),
        };
        return (
          <div key={key} className={simple ? "form-map-row" : "form-map-wide"}>
            <div className="form-map-head">
              <code className="cut form-map-name">{key}</code>
              {simple && (
                <parts.Value
                  schema={inner}
                  value={entry}
                  path={place}
                  depth={depth + 1}
                  name={key}
                  kind={kind}
                  control={control}
                  onChange={(next) => put(key, next ?? "")}
                />
              )}
              {!readOnly && <Button kind="plain" icon="close" aria-label={FORMS.remove(key)} onClick={() => put(key, undefined)} />}
            </div>
            {!simple && (
              <div className="form-entry-body">
                <parts.Value
                  schema={inner}
                  value={entry}
                  path={place}
                  depth={depth + 1}
                  name={key}
                  kind={kind}
                  control={control}
                  // An entry whose fields are all empty stays an entry.
                  onChange={(next) => put(key, next ?? {})}
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
        <NewName
          taken={entries.map(([key]) => key)}
          pattern={schema.propertyNames?.pattern}
          label={labelOf(name, schema)}
          onAdd={(key) => put(key, emptyOf(inner))}
        />
      )}
    </div>
  );
}

/** The name of a new entry: told at once where it cannot be one. */
export function NewName({
  taken,
  pattern,
  label,
  onAdd,
}: {
  readonly taken: readonly string[];
  readonly pattern?: string | undefined;
  readonly label: string;
  onAdd(name: string): void;
}) {
  const [typed, setTyped] = useState("");
  const [tried, setTried] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const name = typed.trim();
  const wrong = taken.includes(name)
    ? FORMS.nameTaken(name)
    : tried && name === ""
      ? FORMS.nameMissing
      : misfit(pattern, name)
        ? FORMS.nameWrong(String(pattern))
        : undefined;
  const add = () => {
    setTried(true);
    input.current?.focus();
    if (name === "" || wrong !== undefined) return;
    onAdd(name);
    setTyped("");
    setTried(false);
  };
  return (
    <div className="form-map-new">
      <TextInput
        ref={input}
        aria-label={`${label}: ${FORMS.newName}`}
        aria-invalid={wrong !== undefined || undefined}
        aria-describedby={wrong === undefined ? undefined : id}
        placeholder={FORMS.newName}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
          event.preventDefault();
          add();
        }}
      />
      <Button icon="add" onClick={add}>
        {FORMS.addEntry}
      </Button>
      {wrong !== undefined && (
        <p id={id} className="form-error">
          {wrong}
        </p>
      )}
    </div>
  );
}

function misfit(pattern: string | undefined, name: string): boolean {
  if (pattern === undefined || name === "") return false;
  try {
    return !new RegExp(pattern, "u").test(name);
  } catch {
    return false;
  }
}
