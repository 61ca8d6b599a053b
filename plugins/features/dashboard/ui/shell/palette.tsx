import { type KeyboardEvent, useState } from "react";
import { navigate } from "../data/router.tsx";
import { type Command, knownCommands } from "../kit/commands.ts";
import { Dialog } from "../kit/dialog.tsx";
import { Icon } from "../kit/icon.tsx";
import { SHELL } from "../words/shell.ts";
import { PAGES } from "./pages.ts";

/** Goes anywhere and runs any command, by a few letters. */
export function Palette({ open, onClose }: { readonly open: boolean; onClose(): void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const pages: Command[] = PAGES.filter(({ rail }) => rail !== undefined).map(({ path, title, icon, goKey }) => ({
    id: path,
    title,
    icon,
    key: `g ${goKey}`,
    run: () => navigate(path),
  }));
  const found = [...pages, ...(open ? knownCommands() : [])].filter(({ title }) => title.toLowerCase().includes(text.toLowerCase())).slice(0, 12);
  const run = (command: Command | undefined) => {
    onClose();
    setText("");
    command?.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") run(found[at]);
    else if (event.key === "ArrowDown") setAt((at + 1) % Math.max(1, found.length));
    else if (event.key === "ArrowUp") setAt((at + found.length - 1) % Math.max(1, found.length));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open={open} onClose={onClose} title={SHELL.search}>
      <input
        className="kit-input"
        aria-label={SHELL.search}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {found.map((command, index) => (
        <button key={command.id} type="button" className="kit-menu-item" aria-current={index === at || undefined} onClick={() => run(command)}>
          <Icon name={command.icon ?? "right"} />
          <span className="grow">{command.title}</span>
          {command.key !== undefined && <kbd>{command.key}</kbd>}
        </button>
      ))}
    </Dialog>
  );
}
