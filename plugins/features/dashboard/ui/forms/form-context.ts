import type { Schema } from "@svc/sdk";
import { type ComponentType, createContext, useContext } from "react";
import type { FormPath } from "./form-path.ts";
import type { FieldKind } from "./schema-kinds.ts";

/** Something that is wrong with a value. */
export interface FormError {
  /** `agents.reviewer.mentions[0]`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
  readonly severity?: "error" | "warning";
}

/** Target of a reference: an agent, a channel, a model. */
export interface Reference {
  readonly id: string;
  readonly label?: string;
  /** State of the target. */
  readonly note?: string;
  /** Where it can be looked at. */
  readonly href?: string;
}

/** State of a credential, without its value. */
export interface SecretState {
  readonly set: boolean;
  /** The variable that the file names. */
  readonly reference?: string;
  /** Whether the variable has a value; undefined where that is not known. */
  readonly known?: boolean;
}

/** Properties of a part of a form. */
export interface PartProps {
  readonly schema: Schema;
  readonly value: unknown;
  readonly path: FormPath;
  /** 0 for the fields of the form itself. */
  readonly depth: number;
  onChange(value: unknown): void;
}

/** Attributes of a control that connect it with label, help and error for screen readers. */
export interface ControlNames {
  readonly id: string;
  readonly "aria-label"?: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

/** Properties of the control of one value. */
export interface ValueProps extends PartProps {
  readonly name: string;
  readonly kind: FieldKind;
  readonly control: ControlNames;
  /** Id of the label, for controls that are several. */
  readonly labelId?: string | undefined;
}

/** The parts that hold others of their own sort. */
export interface FormParts {
  readonly Value: ComponentType<ValueProps>;
  readonly Fields: ComponentType<PartProps>;
}

/** Shared properties of all fields of a form. */
export interface FormSurroundings {
  readonly parts: FormParts;
  readonly errors: readonly FormError[];
  /** Saved value: other values are marked as changed. Undefined marks nothing. */
  readonly saved?: { readonly value: unknown };
  /** Shows the path below each label. */
  readonly paths: boolean;
  /** Labels above their controls: for narrow panes. */
  readonly compact: boolean;
  readonly readOnly: boolean;
  /** Left out: drawn are all fields. */
  readonly shows: (path: FormPath, schema: Schema) => boolean;
  readonly references?: (path: FormPath, schema: Schema) => readonly Reference[] | undefined;
  readonly secrets?: { state(path: FormPath, value: unknown): SecretState; replace(path: FormPath, state: SecretState): void; move(path: FormPath): void };
  /** Opens the text where the value stands; without it a value that no control fits is edited as JSON. */
  readonly onRaw?: (path: FormPath) => void;
  /** A field was left: the time to have the value checked. */
  readonly onLeave?: () => void;
}

/** Hands the surroundings to the fields. */
export const FormContext = createContext<FormSurroundings>({
  parts: { Value: () => null, Fields: () => null },
  errors: [],
  paths: false,
  compact: false,
  readOnly: false,
  shows: () => true,
});

/** The surroundings of a field. */
export const useForm = (): FormSurroundings => useContext(FormContext);
