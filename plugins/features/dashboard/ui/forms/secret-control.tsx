import { Button } from "../kit/button.tsx";
import { TextInput } from "../kit/field.tsx";
import { Glyph } from "../kit/glyph.tsx";
import { Icon } from "../kit/icon.tsx";
import { FORMS } from "../words/forms.ts";
import { type SecretState, useForm, type ValueProps } from "./form-context.ts";

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** A credential: its name and whether it is set, never its value. */
export function SecretControl({ value, path, control, labelId, onChange }: ValueProps) {
  const { secrets, readOnly } = useForm();
  if (secrets === undefined) {
    const text = typeof value === "string" ? value : "";
    const type = text === "" || REFERENCE.test(text) ? "text" : "password";
    return (
      <TextInput
        {...control}
        type={type}
        autoComplete="new-password"
        readOnly={readOnly}
        value={text}
        placeholder="${NAME}"
        onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value)}
      />
    );
  }
  const state = secrets.state(path, value);
  const literal = state.set && state.reference === undefined;
  return (
    <div className="form-secret" role="group" aria-labelledby={labelId}>
      <Icon name="lock" />
      <code className="cut grow">{state.reference === undefined ? (literal ? FORMS.secretLiteral : FORMS.notSet) : `\${${state.reference}}`}</code>
      {value !== undefined && <Standing state={state} />}
      {!readOnly && (
        <span className="form-secret-actions">
          <Button id={control.id} aria-describedby={control["aria-describedby"]} onClick={() => secrets.replace(path, state)}>
            {value === undefined ? FORMS.setSecret : FORMS.replace}
          </Button>
          {literal && (
            <Button kind="plain" onClick={() => secrets.move(path)}>
              {FORMS.moveToEnv}
            </Button>
          )}
        </span>
      )}
    </div>
  );
}

function Standing({ state: { set, reference, known } }: { readonly state: SecretState }) {
  if (!set) return <Glyph state="failed" word label={FORMS.secretEmpty} />;
  if (reference === undefined) return <Glyph state="waiting" word label={FORMS.secretSet} />;
  if (known === undefined) return null;
  return known ? <Glyph state="ok" word label={FORMS.secretSet} /> : <Glyph state="waiting" word label={FORMS.secretMissing} />;
}
