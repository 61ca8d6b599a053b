import { PageHead } from "../../kit/page-head.tsx";

/** The page `/setup`. */
export default function SetupPage() {
  return <PageHead title="Setup" />;
}
