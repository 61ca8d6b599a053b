/* svc.json and the packages that it names, for programs that read and change them without a kernel: half of what the index loads. */

export { ERRORS } from "./base/errors.ts";
export { describeProblem } from "./core/config/configuration.ts";
export { checkConfiguration, configurationSchema, type EditorOptions, editFile, fileSettings, findStore, openEditor } from "./editing.ts";
export { compareLastGood, type Editor } from "./editor/editor.ts";
export { editorSchema } from "./editor/editor-schema.ts";
export { describeSetting, type Setting } from "./editor/setting.ts";
export { refuseDeclared } from "./isolation/crossing.ts";
export { importFile } from "./sources/code.ts";
export { placeOf } from "./sources/failure-place.ts";
export { type PluginEntry, readEntry, readManifest, resolveEntry, type Source, writeEntry } from "./sources/source.ts";
export { changedDependencies, type Dependencies, dependenciesOf } from "./supply/dependencies.ts";
export { type Pin, type Pins, readPins, requirePinned, writePins } from "./supply/integrity.ts";
export { type Observed, observe } from "./supply/observe.ts";
export { observeApart } from "./supply/observe-apart.ts";
export { integrityOf } from "./supply/package-hash.ts";
export { accuse, markedPlugin, type Quarantined, readQuarantine, releaseQuarantine, unmarkLoading } from "./supply/quarantine.ts";
