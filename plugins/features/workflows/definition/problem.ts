/** One thing that is wrong with a definition, and where in its file. Lines and columns count from 1. */
export interface Problem {
  readonly message: string;
  /** JSON pointer into the definition, such as `/nodes/2/cases/0/when`; empty for the file as a whole. */
  readonly pointer: string;
  readonly line: number;
  readonly column: number;
  /** An error keeps the workflow from being started, a warning does not. */
  readonly severity: "error" | "warning";
  /** Such as `SCHEMA`, `UNREACHABLE`, `EXPR_PARSE`. */
  readonly code: string;
}

/** A problem before its place in the file is known. */
export type Finding = Omit<Problem, "line" | "column">;

/** A part of a JSON pointer. */
export const pointerPart = (key: string | number): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

/** The keys of a JSON pointer. */
export const pointerKeys = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The first error as a sentence: why something cannot be run. */
export function firstError(problems: readonly Problem[]): string | undefined {
  const error = problems.find(({ severity }) => severity === "error");
  return error === undefined ? undefined : `line ${error.line}: ${error.message.replace(/\.$/, "")}`;
}
