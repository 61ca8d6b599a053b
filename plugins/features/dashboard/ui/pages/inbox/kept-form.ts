import { useCallback, useSyncExternalStore } from "react";

/** Filled-in, unsent form of a person: it survives another selection in the list, an answer that came too late, and a visit to another page. */
export interface KeptForm {
  readonly values: Readonly<Record<string, unknown>>;
  readonly comment: string;
}

const EMPTY: KeptForm = { values: {}, comment: "" };
const forms = new Map<string, KeptForm>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of [...listeners]) listener();
}

/** The form of a request and how to change it; `forget` when it is sent. */
export function useKeptForm(key: string, initial: KeptForm["values"]): readonly [KeptForm, (change: Partial<KeptForm>) => void, () => void] {
  const form = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => forms.get(key) ?? EMPTY,
  );
  const change = useCallback(
    (part: Partial<KeptForm>) => {
      forms.set(key, { ...(forms.get(key) ?? { ...EMPTY, values: initial }), ...part });
      tell();
    },
    [key, initial],
  );
  const forget = useCallback(() => {
    forms.delete(key);
    tell();
  }, [key]);
  return [form === EMPTY ? { ...EMPTY, values: initial } : form, change, forget];
}
