import { type ReactNode, useEffect, useRef, useState } from "react";
import { type ApiError, isCancelled } from "../data/api-error.ts";
import { session } from "../data/session.ts";
import { KIT } from "../words/kit.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

const PATIENCE_MS = 150;
const SLOW_MS = 5_000;

/**
 * Placeholder of an empty list or page: nothing for a moment, then grey rows; the error; a description of future content; or a hint about the filter.
 * Shows `children` otherwise.
 */
export function StateView({
  loading = false,
  slow = false,
  error,
  empty,
  none,
  what = "This",
  onRetry,
  onCancel,
  rows = 6,
  children,
}: {
  readonly loading?: boolean;
  readonly slow?: boolean;
  readonly error?: ApiError | undefined;
  /** Description of the future content, with one button: for a completely empty page. */
  readonly empty?: ReactNode;
  /** The filter that nothing matches, with the way to clear it. */
  readonly none?: { readonly filter: ReactNode; onClear(): void } | undefined;
  /** Subject of the error's sentence: "The runs". */
  readonly what?: string;
  onRetry?(): void;
  /** Stops the reading, once it has taken long. */
  onCancel?(): void;
  readonly rows?: number;
  readonly children?: ReactNode;
}) {
  const pressed = useRef(false);
  const again = useRef<HTMLButtonElement>(null);
  const stopped = isCancelled(error);
  // The button that was pressed is gone: the next one has the focus in its place.
  useEffect(() => {
    if (stopped && pressed.current) again.current?.focus();
    pressed.current = false;
  }, [stopped]);
  const cancel = () => {
    pressed.current = true;
    onCancel?.();
  };
  if (stopped)
    return (
      <div className="kit-state" role="status">
        <p>{KIT.stoppedReading(what)}</p>
        {onRetry !== undefined && (
          <Button ref={again} onClick={onRetry}>
            {KIT.tryAgain}
          </Button>
        )}
      </div>
    );
  if (error?.status === 403)
    return (
      <div className="kit-state" role="status">
        <p className="kit-state-refused">
          <Icon name="lock" />
          <span>{KIT.mayNotRead(what, /scope ([\w:.-]+)/.exec(error.message)?.[1])}</span>
        </p>
        <Button onClick={session.change}>{KIT.otherToken}</Button>
      </div>
    );
  if (error !== undefined)
    return (
      <div className="kit-state" role="status">
        <p className="kit-state-wrong">
          <Icon name="warn" />
          <span>
            {KIT.couldNotRead(what)} {error.status > 0 && `${error.status}: `}
            {error.message}
          </span>
        </p>
        {onRetry !== undefined && <Button onClick={onRetry}>{KIT.tryAgain}</Button>}
      </div>
    );
  if (loading) return <Loading rows={rows} slow={slow} onCancel={onCancel && cancel} />;
  if (none !== undefined)
    return (
      <div className="kit-state" role="status">
        <p>
          Nothing matches <code>{none.filter}</code>.
        </p>
        <Button onClick={none.onClear}>{KIT.clearFilter}</Button>
      </div>
    );
  if (empty !== undefined) return <div className="kit-state">{empty}</div>;
  return children;
}

function Loading({ rows, slow, onCancel }: { readonly rows: number; readonly slow: boolean; readonly onCancel: (() => void) | undefined }) {
  const [late, setLate] = useState(false);
  const [long, setLong] = useState(false);
  useEffect(() => {
    const timers = [setTimeout(() => setLate(true), PATIENCE_MS), setTimeout(() => setLong(true), SLOW_MS)];
    return () => timers.forEach(clearTimeout);
  }, []);
  if (!late) return null;
  return (
    <div className="kit-loading" role="status" aria-label={KIT.loading}>
      {Array.from({ length: rows }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: grey bars have nothing else
        <div key={at} className="kit-loading-row">
          <span />
        </div>
      ))}
      {(slow || long) && (
        <p className="kit-state">
          {KIT.stillReading} {onCancel !== undefined && <Button onClick={onCancel}>{KIT.cancel}</Button>}
        </p>
      )}
    </div>
  );
}
