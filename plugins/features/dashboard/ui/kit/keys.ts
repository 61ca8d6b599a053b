import { useEffect, useRef } from "react";

/** A key with what it does, as the list of keys (`?`) shows it. */
export interface KeyEntry {
  /** `j`, `Enter`, `Ctrl-s`, `g l`. */
  readonly key: string;
  readonly title: string;
  readonly scope: string;
}

/** Handler of a key; with a title it appears in the list of keys. Returning `false` passes the key on. */
export type KeyHandler = ((event: KeyboardEvent) => unknown) | { readonly title: string; run(event: KeyboardEvent): unknown };

interface Layer {
  readonly scope: string;
  readonly active: () => boolean;
  readonly handlers: () => Readonly<Record<string, KeyHandler>>;
}

const OFF = "svc.keys";
const SEQUENCE_MS = 1_500;
const layers: Layer[] = [];
let pending: { readonly key: string; readonly at: number } | undefined;

/** Whether keys without a modifier do something (WCAG 2.1.4); kept in the browser. */
export const singleKeys = {
  on: (): boolean => {
    try {
      return localStorage.getItem(OFF) !== "off";
    } catch {
      return true;
    }
  },
  set(on: boolean): void {
    try {
      if (on) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, "off");
    } catch {
      // A browser that stores nothing keeps them on.
    }
  },
};

const FIELDS = "input:not([type=checkbox]):not([type=radio]):not([type=range]),textarea,select,[contenteditable],[role=textbox]";
const inField = (target: EventTarget | null): boolean => target instanceof Element && target.closest(FIELDS) !== null;

/** A key press as it is written here. */
export function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  const name = key === " " ? "Space" : key;
  const held = `${ctrlKey || metaKey ? "Ctrl-" : ""}${altKey ? "Alt-" : ""}`;
  // Shift is part of a printed character, but not of the others.
  return `${held}${shiftKey && (name.length > 1 || held !== "") ? "Shift-" : ""}${held !== "" && name.length === 1 ? name.toLowerCase() : name}`;
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || ["Control", "Shift", "Alt", "Meta"].includes(event.key)) return;
  const name = nameOf(event);
  const single = !/^(Ctrl|Alt)-/.test(name) && !/^F\d/.test(name);
  // Fields keep their keys; with a modifier they are ours, and Escape leaves.
  if (single && name !== "Escape" && inField(event.target)) return;
  if (single && name.length === 1 && !singleKeys.on()) return;
  const modal = document.querySelector("dialog:modal");
  const sequence = pending !== undefined && event.timeStamp - pending.at < SEQUENCE_MS ? `${pending.key} ${name}` : undefined;
  pending = undefined;
  for (const wanted of sequence === undefined ? [name] : [sequence, name]) if (run(wanted, event, modal)) return;
  if (single && modal === null && layers.some((layer) => layer.active() && Object.keys(layer.handlers()).some((key) => key.startsWith(`${name} `))))
    pending = { key: name, at: event.timeStamp };
}

function run(wanted: string, event: KeyboardEvent, modal: Element | null): boolean {
  for (const layer of [...layers].reverse()) {
    if (!layer.active() || (modal !== null && layer.scope !== "dialog" && layer.scope !== "everywhere")) continue;
    const handler = layer.handlers()[wanted];
    if (handler === undefined) continue;
    // A button or link under the focus takes Enter and Space itself.
    if ((wanted === "Enter" || wanted === "Space") && event.target instanceof Element && event.target.closest("button,a[href],summary") !== null) continue;
    const done = typeof handler === "function" ? handler(event) : handler.run(event);
    if (done === false) continue;
    event.preventDefault();
    return true;
  }
  return false;
}

let listening = false;

/**
 * Keys of a page or a part of it, as long as it is shown: never in fields unless with Ctrl, not below an open dialog. `scope` heads them in the
 * list of keys; `dialog` ones work in dialogs. The one that came last goes first.
 */
export function useKeys(
  handlers: Readonly<Record<string, KeyHandler>>,
  { scope = "This page", active = true }: { readonly scope?: string; readonly active?: boolean } = {},
): void {
  const now = useRef({ handlers, active });
  now.current = { handlers, active };
  useEffect(() => {
    if (!listening) addEventListener("keydown", onKeyDown);
    listening = true;
    const layer: Layer = { scope, active: () => now.current.active, handlers: () => now.current.handlers };
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, [scope]);
}

/** The keys that work now and have a title, for the list. */
export function knownKeys(): readonly KeyEntry[] {
  return layers.flatMap((layer) =>
    layer.active()
      ? Object.entries(layer.handlers()).flatMap(([key, handler]) => (typeof handler === "function" ? [] : [{ key, title: handler.title, scope: layer.scope }]))
      : [],
  );
}
