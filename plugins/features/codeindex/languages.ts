/** A language: its grammar, and which of its nodes define something. */
export interface Language {
  readonly grammar: string;
  /** Captures `@name` (or `@declarator`, in which the name stands) within one of the kind; `@scope` is a function without a name. */
  readonly query: string;
}

const SCRIPT = `
(generator_function_declaration name: (_) @name) @function
(function_declaration name: (_) @name) @function
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name) @variable
(arrow_function) @scope
(function_expression) @scope
(generator_function) @scope
`;

const TYPED = `${SCRIPT}
(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class name: (_)? )) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_body name: (_) @name @enumerator)
(enum_assignment name: (_) @name) @enumerator
(type_alias_declaration name: (_) @name) @type
(function_signature name: (_) @name) @function
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name) @property
(property_signature name: (_) @name) @property
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(required_parameter (accessibility_modifier) pattern: (identifier) @name) @property
(required_parameter "readonly" pattern: (identifier) @name) @property
`;

const C_LIKE = `
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
(class_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @union
(enum_specifier name: (_) @name body: (_)) @enum
(enumerator name: (_) @name) @enumerator
(type_definition declarator: (_) @declarator) @type
(alias_declaration name: (_) @name) @type
(namespace_definition name: (_) @name) @namespace
(function_definition declarator: (_) @declarator) @function
(field_declaration declarator: (_) @declarator) @field
(declaration declarator: (_) @declarator) @variable
(lambda_expression) @scope
`;

const GO = `
(package_clause (package_identifier) @name) @package
(function_declaration name: (_) @name) @function
(method_declaration name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @struct
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(const_spec name: (identifier) @name) @constant
(var_spec name: (identifier) @name) @variable
(field_declaration name: (_) @name) @field
(field_declaration !name type: (type_identifier) @name) @field
(field_declaration !name type: (qualified_type name: (_) @name)) @field
(method_elem name: (_) @name) @method
(func_literal) @scope
`;

const PYTHON = `
(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function
(assignment left: (identifier) @name) @variable
(assignment left: (pattern_list (identifier) @name)) @variable
(assignment left: (tuple_pattern (identifier) @name)) @variable
(lambda) @scope
`;

const JAVA = `
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @class
(annotation_type_declaration name: (_) @name) @interface
(enum_constant name: (_) @name) @enumerator
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(field_declaration declarator: (variable_declarator name: (_) @name)) @field
(constant_declaration declarator: (variable_declarator name: (_) @name)) @field
`;

const RUST = `
(function_item name: (_) @name) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(union_item name: (_) @name) @union
(enum_variant name: (_) @name) @enumerator
(trait_item name: (_) @name) @interface
(type_item name: (_) @name) @type
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @variable
(mod_item name: (_) @name) @namespace
(macro_definition name: (_) @name) @macro
(field_declaration name: (_) @name) @field
(closure_expression) @scope
`;

const RUBY = `
(class name: (_) @name) @class
(module name: (_) @name) @namespace
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(assignment left: (constant) @name) @constant
`;

const PHP = `
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(trait_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @enum
(enum_case name: (_) @name) @enumerator
(function_definition name: (_) @name) @function
(method_declaration name: (_) @name) @method
(property_element name: (variable_name (name) @name)) @property
(const_element (name) @name) @constant
(anonymous_function) @scope
(arrow_function) @scope
`;

const C_SHARP = `
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(struct_declaration name: (_) @name) @struct
(record_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @enum
(enum_member_declaration name: (_) @name) @enumerator
(delegate_declaration name: (_) @name) @type
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @method
(property_declaration name: (_) @name) @property
(event_declaration name: (_) @name) @property
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @field
(namespace_declaration name: (_) @name) @namespace
`;

const BASH = `
(function_definition name: (_) @name) @function
(variable_assignment name: (variable_name) @name) @variable
`;

const JAVASCRIPT = `${SCRIPT}
(class_declaration name: (_) @name) @class
(field_definition property: (_) @name) @property
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
`;

/** By name. */
export const LANGUAGES: Readonly<Record<string, Language>> = {
  typescript: { grammar: "typescript", query: TYPED },
  tsx: { grammar: "tsx", query: TYPED },
  javascript: { grammar: "javascript", query: JAVASCRIPT },
  python: { grammar: "python", query: PYTHON },
  go: { grammar: "go", query: GO },
  c: { grammar: "cpp", query: C_LIKE },
  java: { grammar: "java", query: JAVA },
  rust: { grammar: "rust", query: RUST },
  ruby: { grammar: "ruby", query: RUBY },
  php: { grammar: "php", query: PHP },
  "c-sharp": { grammar: "c-sharp", query: C_SHARP },
  bash: { grammar: "bash", query: BASH },
};

const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  typescript: ["ts", "mts", "cts"],
  tsx: ["tsx"],
  javascript: ["js", "mjs", "cjs", "jsx"],
  python: ["py", "pyi"],
  go: ["go"],
  c: ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp"],
  java: ["java"],
  rust: ["rs"],
  ruby: ["rb"],
  php: ["php"],
  "c-sharp": ["cs"],
  bash: ["sh", "bash"],
};
const BY_ENDING = new Map(Object.entries(ENDINGS).flatMap(([language, endings]) => endings.map((ending) => [ending, language] as const)));

/** Returns the language of a file by its extension; undefined if it is not indexed. */
export const languageOf = (path: string): string | undefined => BY_ENDING.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase());
