import { PageHead } from "../../kit/page-head.tsx";

/** The page `/plugins`. */
export default function PluginsPage() {
  return <PageHead title="Plugins" />;
}
