/** A JSON schema (draft 2020-12 subset: type, enum, properties, items, minimum, maximum, pattern, default, description ...). */
export interface Schema {
  readonly type?: "string" | "number" | "integer" | "boolean" | "object" | "array" | "null" | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly if?: Schema;
  readonly then?: Schema;
  readonly else?: Schema;
  /** Ours: the value is a credential. It is masked in `config show` and scrubbed from logs; an empty value refuses everything. */
  readonly secret?: boolean;
  /** Ours: the value may be a credential, such as in the environment of a program: it is masked in `config show`, and may be of any type. */
  readonly masked?: boolean;
  /** Ours: a change waits for a restart. */
  readonly restart?: boolean;
  /** Reserved: it may be set and is validated, but this version does not read it; a change is not reported as being in force. */
  readonly unread?: boolean;
}

/** The schema of an object. Unknown keys are refused unless `additionalProperties` says otherwise. Ranges are inclusive and refuse, never clamp. */
export interface ObjectSchema extends Schema {
  readonly type: "object";
}
