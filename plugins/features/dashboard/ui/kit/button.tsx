import type { ButtonHTMLAttributes, MouseEvent, Ref } from "react";
import { classes } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";

/** Properties of a button besides the standard ones. */
export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> {
  /** `primary`: the one of a page. `plain`: no border. Default: a border. */
  readonly kind?: "primary" | "danger" | "plain";
  /** Its work is under way: a second click does nothing. */
  readonly busy?: boolean;
  /** Why it cannot be used now: told as a tip and to those who hear the page; it can be reached, but does nothing. */
  readonly disabledWhy?: string | undefined;
  readonly icon?: IconName;
  readonly submit?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
}

/** A button. One with an icon alone needs `aria-label`. */
export function Button({ kind, busy = false, disabledWhy, icon, submit = false, className, children, onClick, title, ...rest }: ButtonProps) {
  const click = (event: MouseEvent<HTMLButtonElement>) => {
    if (busy || disabledWhy !== undefined) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      {...rest}
      type={submit ? "submit" : "button"}
      className={classes("kit-button", kind && `kit-button-${kind}`, children === undefined && "kit-button-icon", className)}
      aria-disabled={busy || disabledWhy !== undefined || undefined}
      aria-busy={busy || undefined}
      title={disabledWhy ?? title ?? (children === undefined ? rest["aria-label"] : undefined)}
      onClick={click}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
      {disabledWhy !== undefined && <span className="unseen">{disabledWhy}</span>}
    </button>
  );
}
