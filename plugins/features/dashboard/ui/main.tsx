import "./tokens.css";
import "./base.css";
import "./kit/kit.css";
import "./kit/controls.css";
import "./kit/floating.css";
import "./shell/shell.css";
import "./shell/narrow.css";
import { createRoot } from "react-dom/client";
import { App } from "./shell/app.tsx";
import { applyTheme } from "./shell/theme.ts";

applyTheme();
const place = document.getElementById("app");
if (place !== null) createRoot(place).render(<App />);
