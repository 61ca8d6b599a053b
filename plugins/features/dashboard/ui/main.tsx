import "./tokens.css";
import "./base.css";
import "./kit/kit.css";
import "./kit/controls.css";
import "./kit/floating.css";
import "./shell/shell.css";
import "./shell/palette.css";
import "./shell/narrow.css";
import { createRoot } from "react-dom/client";
import { takeLink } from "./data/session.ts";
import { App } from "./shell/app.tsx";
import { applyTheme } from "./shell/theme.ts";

applyTheme();
const place = document.getElementById("app");
await takeLink();
if (place !== null) createRoot(place).render(<App />);
