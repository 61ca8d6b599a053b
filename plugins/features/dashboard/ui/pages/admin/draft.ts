import type { Schema, SettingsDocument, SettingsPreview, SettingsReport } from "@svc/sdk";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type ApiError, cancelled, isCancelled } from "../../data/api-error.ts";
import { onConnected } from "../../data/live.ts";
import { request } from "../../data/request.ts";
import { reloadAll, useResource } from "../../data/resource.ts";
import { session } from "../../data/session.ts";
import type { FormError } from "../../forms/form-context.ts";
import { type FormPath, pathText, valueAt, withValue } from "../../forms/form-path.ts";
import { type Change, type Conflict, changesBetween, editsOf, mergeChanges } from "../../forms/setting-edits.ts";

/** A concurrent change, made while this page had changes of its own. */
export interface TheirWork {
  readonly theirs: readonly Change[];
  readonly conflicts: readonly Conflict[];
}

/** svc.json as a page edits it: nothing is written before `save`. */
export interface Draft {
  readonly loading: boolean;
  readonly slow: boolean;
  readonly error: ApiError | undefined;
  readonly schema: Schema;
  /** As the file has it. */
  readonly base: SettingsDocument;
  /** As the page has it. */
  readonly document: unknown;
  readonly changes: readonly Change[];
  /** Errors of the page's document, as far as it was checked. */
  readonly errors: readonly FormError[];
  readonly readAt: number;
  readonly theirWork: TheirWork | undefined;
  /** The text that is being typed is no JSON now: what it said last stands, and cannot be saved. */
  readonly broken: boolean;
  setBroken(broken: boolean): void;
  put(path: FormPath, value: unknown): void;
  discard(): void;
  /** Has the server check what was changed, and answers what a save would do. Undefined where the file has changed meanwhile. */
  check(): Promise<SettingsPreview | undefined>;
  /** Undefined where the file has changed meanwhile: then `theirWork` says how. */
  save(references: ReadonlySet<string>): Promise<SettingsReport | undefined>;
  /** Settles a conflict. */
  settle(conflict: Conflict, whose: "yours" | "theirs"): void;
  /** Reads the file again and puts the changes onto it. */
  reread(): Promise<void>;
  /** After an error: reads whatever could not be read. */
  retry(): void;
  /** Stops the first reading. */
  cancel(): void;
}

const SETTINGS = "/api/admin/settings";
const NOTHING: SettingsDocument = { document: {}, revision: "", secrets: [], problems: [] };
const CHECK_MS = 300;

/** svc.json and its schema for one page. */
export function useDraft(): Draft {
  const schema = useResource<{ schema: Schema }>("/api/admin/schema");
  const [base, setBase] = useState<SettingsDocument>();
  const [error, setError] = useState<ApiError>();
  const [document, setDocument] = useState<unknown>({});
  const [theirWork, setTheirWork] = useState<TheirWork>();
  const [readAt, setReadAt] = useState(0);
  const [broken, setBroken] = useState(false);
  const now = useRef({ base, document });
  now.current = { base, document };

  const take = useCallback((next: SettingsDocument) => {
    const { base: before, document: mine } = now.current;
    setReadAt(Date.now());
    setBase(next);
    setError(undefined);
    if (before === undefined || changesBetween(before.document, mine).length === 0) {
      setDocument(next.document);
      setTheirWork(undefined);
      return;
    }
    const { value, conflicts, theirs } = mergeChanges(before.document, mine, next.document);
    setDocument(value);
    if (theirs.length > 0 || conflicts.length > 0)
      setTheirWork((known) => ({ theirs: [...(known?.theirs ?? []), ...theirs], conflicts: [...(known?.conflicts ?? []), ...conflicts] }));
  }, []);

  const { reread, stop } = useFile(take, setError);
  // Retry with another token, or when the daemon is back.
  const missing = base === undefined && !isCancelled(error);
  useEffect(() => {
    if (!missing) return undefined;
    const ends = [session.subscribe(() => void reread()), onConnected(() => void reread())];
    return () => {
      for (const end of ends) end();
    };
  }, [missing, reread]);
  const retry = () => {
    if (isCancelled(error)) setError(undefined);
    void reread();
    if (schema.data === undefined) schema.reload();
  };
  const cancel = () => {
    schema.cancel();
    stop();
    if (base === undefined) setError(cancelled());
  };

  const changes = useMemo(() => changesBetween(base?.document ?? {}, document), [base, document]);

  /** A conflict is no failure of the page: the file as it is now comes with it. One that does not count any more changes nothing. */
  const orMerge = useCallback(
    async <T>(work: Promise<T>, counts = () => true): Promise<T | undefined> => {
      try {
        return await work;
      } catch (cause) {
        const { status, details } = cause as ApiError;
        const current = details?.["current"] as SettingsDocument | undefined;
        if (status !== 409 || current === undefined) throw cause;
        if (counts()) take(current);
        return undefined;
      }
    },
    [take],
  );

  const { checked, check, withoutChecks } = useChecked(changes, base, orMerge);

  const save = useCallback(
    async (references: ReadonlySet<string>) => {
      const edits = editsOf(changes, references);
      const report = await withoutChecks(() => orMerge(request<SettingsReport>("PATCH", SETTINGS, { edits, expect: base?.revision })));
      if (report === undefined) return undefined;
      setTheirWork(undefined);
      setDocument(base?.document ?? {});
      now.current = { base, document: base?.document ?? {} };
      await reread();
      // The daemon's configuration has changed: reload without waiting for an event.
      reloadAll();
      return report;
    },
    [changes, base, orMerge, withoutChecks, reread],
  );

  const errors = useMemo<readonly FormError[]>(
    () => (checked?.problems ?? base?.problems ?? []).map(({ path, message, severity }) => ({ path, message, severity })),
    [checked, base],
  );
  return {
    // Keep the shown data and typed text during a reload.
    loading: (base === undefined && error === undefined) || (schema.data === undefined && schema.loading),
    slow: schema.slow,
    error: (base === undefined ? error : undefined) ?? (schema.data === undefined ? schema.error : undefined),
    schema: schema.data?.schema ?? {},
    base: base ?? NOTHING,
    document,
    changes,
    errors,
    readAt,
    theirWork,
    broken,
    setBroken,
    put: (path, value) => setDocument((before: unknown) => withValue(before, path, value)),
    discard() {
      setDocument(base?.document ?? {});
      setTheirWork(undefined);
      setBroken(false);
    },
    check,
    save,
    settle(conflict, whose) {
      if (whose === "yours") setDocument((before: unknown) => withValue(before, conflict.path, conflict.yours));
      setTheirWork((known) => known && { ...known, conflicts: known.conflicts.filter((one) => one !== conflict) });
    },
    reread,
    retry,
    cancel,
  };
}

type OrMerge = <T>(work: Promise<T>, counts?: () => boolean) => Promise<T | undefined>;

/** What the server says of the changes: asked a moment after each of them, and whenever it is called. */
function useChecked(changes: readonly Change[], base: SettingsDocument | undefined, orMerge: OrMerge) {
  const [checked, setChecked] = useState<SettingsPreview>();
  // Answers may come in another order than their questions. To one that was asked before a save the file of that save is a conflict.
  const asked = useRef(0);
  const held = useRef(false);
  const check = useCallback(async () => {
    if (held.current) return undefined;
    asked.current += 1;
    const mine = asked.current;
    const counts = () => mine === asked.current;
    const edits = editsOf(changes, referencePaths(changes));
    const answer = await orMerge(request<SettingsPreview>("POST", `${SETTINGS}/check`, { edits, expect: base?.revision }), counts);
    if (answer !== undefined && counts()) setChecked(answer);
    return answer;
  }, [changes, base, orMerge]);
  const withoutChecks = useCallback(async <T>(work: () => Promise<T>): Promise<T> => {
    asked.current += 1;
    held.current = true;
    try {
      return await work();
    } finally {
      held.current = false;
    }
  }, []);

  // Debounce the check; the answer to the newest question counts.
  useEffect(() => {
    if (changes.length === 0) {
      asked.current += 1;
      setChecked(undefined);
      return undefined;
    }
    const timer = setTimeout(() => void check().catch(() => {}), CHECK_MS);
    return () => clearTimeout(timer);
  }, [changes, check]);
  return { checked, check, withoutChecks };
}

/** The file as the daemon has it: read at once, and again when it is asked for. */
function useFile(take: (next: SettingsDocument) => void, failed: (cause: ApiError) => void) {
  const reading = useRef<AbortController>(undefined);
  const reread = useCallback(async () => {
    const abort = new AbortController();
    reading.current = abort;
    try {
      take(await request<SettingsDocument>("GET", SETTINGS, undefined, { signal: abort.signal }));
    } catch (cause) {
      if (!abort.signal.aborted) failed(cause as ApiError);
    }
  }, [take, failed]);
  useEffect(() => void reread(), [reread]);
  return { reread, stop: () => reading.current?.abort() };
}

/** For the check alone: whether a reference is meant is asked when it is saved. */
const referencePaths = (changes: readonly Change[]): ReadonlySet<string> => new Set(changes.map(({ path }) => pathText(path)));

/** Returns the values of file and page at a path. */
export const bothAt = ({ base, document }: Draft, path: FormPath) => ({ saved: valueAt(base.document, path), value: valueAt(document, path) });
