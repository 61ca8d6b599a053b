import { useEffect, useRef } from "react";
import { useKeys } from "../../kit/keys.ts";
import { EDITOR } from "../../words/editor.ts";
import { focusNode } from "./canvas-keys.ts";
import { copiedText, readCopied } from "./clipboard.ts";
import type { EditorModel } from "./editor-model.ts";

const inField = (target: EventTarget | null): boolean => target instanceof Element && target.closest("input,textarea,select,[contenteditable]") !== null;
const { keys } = EDITOR;

/** Keys of the whole page, and the clipboard for nodes. A field keeps its own undo and its own clipboard. */
export function useEditorKeys(model: EditorModel, { find, connect, fit, save }: { find(): void; connect(): void; fit(): void; save(): void }): void {
  const outside = (work: () => void) => (event: KeyboardEvent) => (inField(event.target) ? false : work());
  useKeys(
    {
      n: { title: keys.find, run: find },
      p: { title: keys.connect, run: connect },
      "0": { title: keys.fit, run: fit },
      "Ctrl-s": { title: keys.save, run: save },
      "Ctrl-z": { title: keys.undo, run: outside(() => model.undo()) },
      "Ctrl-y": { title: keys.redo, run: outside(() => model.redo()) },
      "Ctrl-Shift-z": outside(() => model.redo()),
      Escape(event) {
        // From a field of the form back to its node.
        if (!(event.target instanceof Element) || event.target.closest(".editor-form-pane, .editor-palette-pane") === null) return false;
        focusNode(model);
        return true;
      },
    },
    { scope: keys.scope },
  );
  const last = useRef(model);
  last.current = model;
  useEffect(() => {
    const out = (event: ClipboardEvent) => {
      const text = inField(event.target) || String(getSelection()) !== "" ? undefined : copiedText(last.current);
      if (text === undefined) return false;
      event.clipboardData?.setData("text/plain", text);
      event.preventDefault();
      return true;
    };
    const cut = (event: ClipboardEvent) => {
      if (last.current.closed() === undefined && out(event)) last.current.removeSelected();
    };
    const paste = (event: ClipboardEvent) => {
      const copied = inField(event.target) ? undefined : readCopied(event.clipboardData?.getData("text/plain") ?? "");
      if (copied === undefined) return;
      event.preventDefault();
      last.current.paste(copied.nodes, copied.edges, copied.places);
      focusNode(last.current);
    };
    document.addEventListener("copy", out);
    document.addEventListener("cut", cut);
    document.addEventListener("paste", paste);
    return () => {
      document.removeEventListener("copy", out);
      document.removeEventListener("cut", cut);
      document.removeEventListener("paste", paste);
    };
  }, []);
}
