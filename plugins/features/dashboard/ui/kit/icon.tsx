/** Outlines of 16 by 16. */
const PATHS = {
  live: "M1.5 8.5h3l2-6 3 11 2-5h3",
  boards: "M2 2.5h3v11H2zM6.5 2.5h3v7h-3zM11 2.5h3v9h-3z",
  inbox: "M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.5h3l1-1.5H14",
  processes: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM6.7 5.5v5l4-2.5z",
  workflows: "M2 2.5h4v4H2zM10 9.5h4v4h-4zM6 4.5h2.5v7H10",
  tasks: "M2 3.5h1.5M6 3.5h8M2 8h1.5M6 8h8M2 12.5h1.5M6 12.5h8",
  plugins: "M6 1.5v4M10 1.5v4M4 5.5h8v2.5a4 4 0 0 1-8 0zM8 12v2.5",
  admin: "M1.5 4.5h7M12.5 4.5h2M10.5 2.5v4h2v-4zM1.5 11.5h2M7.5 11.5h7M3.5 9.5v4h2v-4z",
  setup: "M8 1.5v4M8 10.5v4M1.5 8h4M10.5 8h4",
  search: "M7 2a5 5 0 1 1 0 10A5 5 0 0 1 7 2zM10.7 10.7 14.5 14.5",
  menu: "M2 4h12M2 8h12M2 12h12",
  more: "M3 7.75v.5M8 7.75v.5M13 7.75v.5",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  up: "M4 10l4-4 4 4",
  add: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3",
  lock: "M3.5 7h9v6.5h-9zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  pause: "M5 3v10M11 3v10",
  play: "M4.5 2.5v11l9-5.5z",
  stop: "M4 4h8v8H4z",
  undo: "M3 6h7a3.5 3.5 0 0 1 0 7H6M3 6l3-3M3 6l3 3",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3 3 0 0 1 4.3 4.3L11.3 8.8M9 11.5 7.5 13a3 3 0 0 1-4.3-4.3L4.7 7.2",
  out: "M9 2.5H3.5v11H9M7 8h7M11.5 5.5 14 8l-2.5 2.5",
  offline: "M2 2l12 12M4 8.5a5.5 5.5 0 0 1 2.5-1.7M9.5 6.8A5.5 5.5 0 0 1 12 8.5M8 12.5h.01M1.5 6a9 9 0 0 1 3-2M7 3.2A9 9 0 0 1 14.5 6",
  theme: "M8 2a6 6 0 1 1 0 12zM8 2a6 6 0 0 0 0 12",
  keys: "M1.5 4h13v8h-13zM4 6.5h.01M6.5 6.5h.01M9 6.5h.01M11.5 6.5h.01M5 9.5h6",
  warn: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 12h.01",
  agent: "M8 2.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM2.5 14a5.5 5.5 0 0 1 11 0",
  chat: "M2 3h12v8H7l-3 3v-3H2z",
  edit: "M3 13l.7-3 7-7L13 5.3l-7 7z",
  trash: "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9",
  drag: "M6 3.5h.01M10 3.5h.01M6 8h.01M10 8h.01M6 12.5h.01M10 12.5h.01",
  daemon: "M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01",
  panel: "M2 3h12v10H2zM2 6.5h12",
} as const;

/** Name of an icon. */
export type IconName = keyof typeof PATHS;

/** An outline beside a word or in a button that has a name: says nothing to those who hear the page. */
export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg className="kit-icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
