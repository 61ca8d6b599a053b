import type { ComponentType } from "react";
import type { IconName } from "../kit/icon.tsx";

/** One page: where it is, how it is called, how it is reached and loaded. */
export interface Page {
  /** `:id` stands for one part of the address. */
  readonly path: string;
  readonly title: string;
  /** After `g`. */
  readonly goKey?: string;
  readonly icon: IconName;
  /** Where it stands in the rail; absent: nowhere. */
  readonly rail?: "top" | "bottom";
  /** In the bar of a narrow screen, by that short name. */
  readonly bar?: string;
  load(): Promise<{ readonly default: ComponentType }>;
}

/** All pages, in the order of the rail. */
export const PAGES: readonly Page[] = [
  { path: "/live", title: "Live", goKey: "l", icon: "live", rail: "top", bar: "Live", load: () => import("../pages/live/live-page.tsx") },
  { path: "/", title: "Boards", goKey: "b", icon: "boards", rail: "top", bar: "Boards", load: () => import("../pages/boards/boards-page.tsx") },
  { path: "/inbox", title: "Inbox", goKey: "i", icon: "inbox", rail: "top", bar: "Inbox", load: () => import("../pages/inbox/inbox-page.tsx") },
  {
    path: "/processes",
    title: "Processes",
    goKey: "p",
    icon: "processes",
    rail: "top",
    bar: "Runs",
    load: () => import("../pages/processes/processes-page.tsx"),
  },
  { path: "/workflows", title: "Workflows", goKey: "w", icon: "workflows", rail: "top", load: () => import("../pages/workflows/workflows-page.tsx") },
  { path: "/workflows/editor", title: "Editor", icon: "edit", load: () => import("../pages/editor/editor-page.tsx") },
  { path: "/tasks", title: "Tasks", goKey: "t", icon: "tasks", rail: "top", load: () => import("../pages/tasks/tasks-page.tsx") },
  { path: "/tasks/:id", title: "Task", icon: "tasks", load: () => import("../pages/tasks/task-page.tsx") },
  { path: "/plugins", title: "Plugins", goKey: "u", icon: "plugins", rail: "bottom", load: () => import("../pages/plugins/plugins-page.tsx") },
  { path: "/panels/:id", title: "Panel", icon: "panel", load: () => import("./panel-page.tsx") },
  { path: "/admin", title: "Admin", goKey: "a", icon: "admin", rail: "bottom", load: () => import("../pages/admin/admin-page.tsx") },
  { path: "/setup", title: "Setup", icon: "setup", load: () => import("../pages/setup/setup-page.tsx") },
];
