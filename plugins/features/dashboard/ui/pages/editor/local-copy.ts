import type { GraphDefinition } from "../../graph/graph-types.ts";
import type { Subject } from "./editor-types.ts";

/** Unsaved work stored in this browser. */
export interface LocalCopy {
  readonly at: number;
  readonly definition: GraphDefinition;
  readonly text: string;
  /** Of what it was made from. */
  readonly etag?: string;
}

const keyOf = ({ kind, id }: Subject): string => `svc.workflow.${kind}.${id}`;

/** Copies of unsaved work, by subject. Empty in a browser without storage. */
export const localCopies = {
  read(subject: Subject): LocalCopy | undefined {
    try {
      const text = localStorage.getItem(keyOf(subject));
      const copy = text === null ? undefined : (JSON.parse(text) as LocalCopy);
      return copy !== undefined && Array.isArray(copy.definition?.nodes) && Array.isArray(copy.definition.edges) ? copy : undefined;
    } catch {
      return undefined;
    }
  },
  /** False where the browser refuses. */
  write(subject: Subject, copy: LocalCopy): boolean {
    try {
      localStorage.setItem(keyOf(subject), JSON.stringify(copy));
      return true;
    } catch {
      return false;
    }
  },
  remove(subject: Subject): void {
    try {
      localStorage.removeItem(keyOf(subject));
    } catch {
      // Without storage there is no copy.
    }
  },
};
