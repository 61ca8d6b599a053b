import { Button } from "../kit/button.tsx";
import { FORMS } from "../words/forms.ts";
import { type PartProps, useForm } from "./form-context.ts";
import { pathText } from "./form-path.ts";

/** The way to the text, where no control fits. */
export function RawLink({ path }: Pick<PartProps, "path">) {
  const { onRaw } = useForm();
  if (onRaw === undefined) return null;
  return (
    <Button kind="plain" className="form-raw-link" onClick={() => onRaw(path)}>
      {FORMS.openRaw(pathText(path))}
    </Button>
  );
}
