import { PageHead } from "../../kit/page-head.tsx";

/** The page `/live`. */
export default function LivePage() {
  return <PageHead title="Live" />;
}
