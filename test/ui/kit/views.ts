import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";

/** The widths that every page is drawn for. */
export const WIDTHS = [1600, 1024, 390] as const;
const HEIGHTS: Readonly<Record<number, number>> = { 1600: 1000, 1024: 768, 390: 844 };

/** One way to look at a page. */
export interface View {
  readonly theme: "light" | "dark";
  readonly width: number;
}

let folder: string | undefined;

/** Where screenshots go: `SVC_UI_SHOTS`, else a temporary folder. */
export function shots(): string {
  folder ??= process.env.SVC_UI_SHOTS ?? mkdtempSync(join(tmpdir(), "svc-shots-"));
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Looks at a page in both themes and three widths; where pictures are wanted (`SVC_UI_SHOTS`), one is taken of each under the name. */
export async function views(page: Page, name: string, look: (view: View) => Promise<void>): Promise<void> {
  for (const theme of ["light", "dark"] as const)
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: HEIGHTS[width] as number });
      await look({ theme, width });
      if (process.env.SVC_UI_SHOTS !== undefined) await page.screenshot({ path: join(shots(), `${name}-${width}-${theme}.png`) });
    }
}

/** Takes the pictures of `views` where they are wanted; else nothing is drawn. */
export async function pictures(page: Page, name: string): Promise<void> {
  if (process.env.SVC_UI_SHOTS !== undefined) await views(page, name, async () => undefined);
}
