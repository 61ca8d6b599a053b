import { expect, it } from "vitest";
import { lettersOn } from "./agent-mark.tsx";

it("the letters of a mark are dark on light grounds and light on dark ones", () => {
  for (const ground of ["#000000", "#336699", "#b0241c", "#1f4fbf"]) expect([ground, lettersOn(ground)]).toEqual([ground, "#ffffff"]);
  for (const ground of ["#ffffff", "#ffcc00", "#7fd19b", "#00ffff"]) expect([ground, lettersOn(ground)]).toEqual([ground, "#131412"]);
});
