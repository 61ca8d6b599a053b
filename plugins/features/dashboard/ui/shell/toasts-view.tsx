import { useEffect, useState, useSyncExternalStore } from "react";
import { Button } from "../kit/button.tsx";
import { Icon } from "../kit/icon.tsx";
import { dismissToast, type Toast, toasts } from "../kit/toast.ts";
import { KIT } from "../words/kit.ts";
import { SHELL } from "../words/shell.ts";

const DONE_MS = 6_000;

/** The messages at the edge of the page. */
export function Toasts() {
  const list = useSyncExternalStore(toasts.subscribe, toasts.list);
  return (
    <section className="shell-toasts" aria-label={SHELL.toasts}>
      {list.map((one) => (
        <One key={one.id} toast={one} />
      ))}
    </section>
  );
}

function One({ toast: { id, text, cause, action, kind } }: { readonly toast: Toast }) {
  const [held, setHeld] = useState(false);
  useEffect(() => {
    if (kind === "error" || held) return undefined;
    const timer = setTimeout(() => dismissToast(id), DONE_MS);
    return () => clearTimeout(timer);
  }, [id, kind, held]);
  return (
    <div
      className={`shell-toast shell-toast-${kind}`}
      role={kind === "error" ? "alert" : "status"}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      {kind === "error" && <Icon name="warn" />}
      <p className="grow">
        {text} {cause !== undefined && <span className="shell-toast-cause">{cause}</span>}
      </p>
      {action !== undefined && (
        <Button
          onClick={() => {
            dismissToast(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <Button kind="plain" icon="close" aria-label={KIT.dismiss} onClick={() => dismissToast(id)} />
    </div>
  );
}
