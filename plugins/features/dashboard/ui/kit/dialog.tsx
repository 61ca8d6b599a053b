import { type ReactNode, useEffect, useId, useRef } from "react";
import { KIT } from "../words/kit.ts";
import { Button } from "./button.tsx";
import { classes } from "./class-names.ts";

/**
 * A dialog above the page: the native one, so that focus stays in it, Escape closes it and the opener gets the focus back. What carries
 * `data-first-focus` has the focus at first.
 */
export function Dialog({
  title,
  open,
  onClose,
  children,
  actions,
  wide = false,
  closable = true,
}: {
  readonly title: ReactNode;
  readonly open: boolean;
  onClose(): void;
  readonly children?: ReactNode;
  /** Its buttons, the first one first. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
  /** False: no cross, and Escape does nothing. */
  readonly closable?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null || !open) return undefined;
    const opener = document.activeElement;
    element.showModal();
    element.querySelector<HTMLElement>("[data-first-focus]")?.focus();
    return () => {
      element.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      className={classes("kit-dialog", wide && "kit-dialog-wide")}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        if (closable) onClose();
      }}
    >
      <div className="kit-dialog-head">
        <h2 id={name}>{title}</h2>
        {closable && <Button kind="plain" icon="close" aria-label={KIT.close} onClick={onClose} />}
      </div>
      <div className="kit-dialog-body">{children}</div>
      {actions !== undefined && <div className="kit-dialog-foot">{actions}</div>}
    </dialog>
  );
}

/** Asks before something that cannot be undone: says what happens, and its button says what it does. */
export function ConfirmDialog({
  title,
  children,
  action,
  danger = false,
  busy = false,
  open,
  onConfirm,
  onClose,
}: {
  readonly title: ReactNode;
  readonly children?: ReactNode;
  /** Verb and noun: "Delete the token". */
  readonly action: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly open: boolean;
  onConfirm(): void;
  onClose(): void;
}) {
  const buttons = (
    <>
      <Button onClick={onClose}>{KIT.cancel}</Button>
      <Button kind={danger ? "danger" : "primary"} busy={busy} onClick={onConfirm}>
        {action}
      </Button>
    </>
  );
  return (
    <Dialog title={title} open={open} onClose={onClose} actions={buttons}>
      {children}
    </Dialog>
  );
}
