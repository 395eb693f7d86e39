/** A JSON value as it was written. It is printed unchanged, where a double would round or reshape it. */
export class JsonText {
  constructor(readonly text: string) {}

  /** It serves printers that know of nothing but values. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** It prints a value as `JSON.stringify` does, with every `JsonText` in it as it was written. */
export const printJson = (value: unknown): string => printed(value) ?? 'null';

/** It is undefined where JSON has no word for the value. */
function printed(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map(printJson).join(',')}]`;
  let members = '';
  for (const name of Object.keys(value)) {
    const text = printed(Reflect.get(value, name));
    if (text !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}
