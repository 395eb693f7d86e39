/** A JSON value as it was written, printed unchanged if a double would round or reshape it. */
export class JsonText {
  constructor(readonly text: string) {}

  /** For printers that know only values. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Prints a value as `JSON.stringify` does, but every `JsonText` in it as it was written. */
export const printJson = (value: unknown): string => printValue(value) ?? 'null';

/** Undefined if JSON cannot represent the value. */
function printValue(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof JsonText) return value.text;
  if (Array.isArray(value)) return `[${value.map(printJson).join(',')}]`;
  let members = '';
  for (const name of Object.keys(value)) {
    const text = printValue(Reflect.get(value, name));
    if (text !== undefined) members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${text}`;
  }
  return `{${members}}`;
}
