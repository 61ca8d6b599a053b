import { PageHead } from "../kit/page-head.tsx";

/** The page `/panels/<id>` of a panel that a plugin provides. */
export default function PanelPage() {
  return <PageHead title="Panel" />;
}
