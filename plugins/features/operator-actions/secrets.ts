const SOUNDS_SECRET = /KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE/i;
const WORTH_HIDING = 6;

/** The environment as templates may read it, remembering what was read so that secrets do not come back in results. */
export interface Variables {
  read(name: string): string | undefined;
  /** The text with the values of secret-sounding variables that were read replaced by `[NAME]`, percent-encoded ones too. */
  hide(text: string): string;
}

/** Makes a reader of environment variables that remembers what it gave out, so that results can be masked. */
export function createVariables(env: (name: string) => string | undefined): Variables {
  const secrets = new Map<string, string>();
  return {
    read(name) {
      const value = env(name);
      if (value !== undefined && value.length >= WORTH_HIDING && SOUNDS_SECRET.test(name)) secrets.set(name, value);
      return value;
    },
    hide(text) {
      const forms = [...secrets].flatMap(([name, value]) =>
        [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)].map((form) => ({ form, name })),
      );
      // The longest first: one secret may be the beginning of another.
      forms.sort((left, right) => right.form.length - left.form.length);
      return forms.reduce((out, { form, name }) => out.replaceAll(form, `[${name}]`), text);
    },
  };
}
