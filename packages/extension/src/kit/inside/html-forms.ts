export interface FormField {
  readonly name: string;
  readonly type: string;
  readonly value: string;
  readonly isRequired: boolean;
  readonly isChecked: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly choices: readonly string[];
}

export interface HtmlForm {
  readonly action: string;
  readonly fields: readonly FormField[];
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };

const decodeEntities = (text: string): string =>
  text.replaceAll(
    /&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi,
    (entity, hex?: string, decimal?: string, name?: string) => {
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
      return entities[name ?? ''] ?? entity;
    },
  );

export const attributesOf = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/\s([\w:@.-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g)].map(
      ([, name = '', double, single, bare]) => [
        name.toLowerCase(),
        decodeEntities(double ?? single ?? bare ?? ''),
      ],
    ),
  );

export const tagsOf = (html: string): readonly { readonly name: string; readonly tag: string }[] =>
  [
    ...html
      .replaceAll(/<!--.*?-->/gs, '')
      .matchAll(/<([a-z][\w-]*)((?:\s+[^\s"'>=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?|\s|\/)*)>/gi),
  ].map(([tag, name = '']) => ({ name: name.toLowerCase(), tag }));

export const formsOf = (html: string, below: string): readonly HtmlForm[] =>
  [...html.matchAll(/<form\b[^>]*>.*?<\/form>/gs)].flatMap(([form]) => {
    const [opening = ''] = /<form\b[^>]*>/.exec(form) ?? [];
    const { action = '', method = 'get' } = attributesOf(opening);
    const isOwn = action === below || action.startsWith(`${below}/`);
    return isOwn && method.toLowerCase() === 'post' ? [{ action, fields: fieldsOf(form) }] : [];
  });

function fieldsOf(form: string): FormField[] {
  const controls = [
    ...form.matchAll(
      /<(input|select|textarea|button)\b([^>]*)>(?:(?<=<(?:select|textarea)[^>]*>)(.*?)<\/\1>)?/gs,
    ),
  ];
  return controls.flatMap(([, kind = '', text = '', inner = '']) => {
    const attributes = attributesOf(` ${text}`);
    const { name, type = kind === 'input' ? 'text' : kind } = attributes;
    // A button without a value submits nothing.
    if (
      name === undefined ||
      'disabled' in attributes ||
      (kind === 'button' && attributes['value'] === undefined)
    )
      return [];
    const choices = [...inner.matchAll(/<option\b([^>]*)>([^<]*)/g)].map(
      ([, option = '', label = '']) => attributesOf(` ${option}`)['value'] ?? decodeEntities(label.trim()),
    );
    const value = kind === 'textarea' ? decodeEntities(inner.trim()) : (attributes['value'] ?? '');
    const isRequired = 'required' in attributes;
    return [{ name, type, value, isRequired, isChecked: 'checked' in attributes, attributes, choices }];
  });
}

/** Values that patterns of forms often accept. */
const candidates = [
  'kit',
  'KIT',
  'K1',
  '1',
  '01',
  'kit-1',
  'kit@example.org',
  'https://example.org',
  '2027-01-31',
  '2027-01',
  '12:00',
  '1.5',
  'DE',
];

/** Returns a value that the field accepts, containing the marker if there is room; null if none can be guessed. */
export function validValue(field: FormField, marker: string): string | null {
  const { type, value, attributes, choices } = field;
  const { maxlength, pattern, min, step } = attributes;
  if (type === 'hidden' || type === 'button' || type === 'submit') return value;
  if (type === 'select') return choices.find((choice) => choice !== '') ?? null;
  if (type === 'number' || attributes['inputmode'] === 'numeric' || min !== undefined)
    return value !== '' ? value : (min ?? (step === undefined || step === '1' ? '1' : step));
  if (pattern !== undefined) {
    const fullPattern = new RegExp(`^(?:${pattern})$`, 'u');
    return [marker, value, ...candidates].find((each) => each !== '' && fullPattern.test(each)) ?? null;
  }
  if (type === 'email') return `${marker}@example.org`;
  if (type === 'url') return `https://example.org/${marker}`;
  if (type === 'date') return '2027-01-31';
  if (type === 'month') return '2027-01';
  if (type === 'time') return '12:00';
  return marker.slice(0, maxlength === undefined ? undefined : Number(maxlength));
}

/** Returns the values of a form as its page offers them; null if a field needs one that cannot be guessed. */
export function validValues(
  form: HtmlForm,
  marker: string,
  overrides: Readonly<Record<string, string>> = {},
): Record<string, string> | null {
  const values: Record<string, string> = {};
  for (const field of form.fields) {
    const isTicked = field.type === 'checkbox' || field.type === 'radio';
    if (isTicked && !field.isChecked && !field.isRequired && overrides[field.name] === undefined) {
      if (field.type === 'radio') values[field.name] ??= field.value;
      continue;
    }
    const value = overrides[field.name] ?? (isTicked ? field.value || 'on' : validValue(field, marker));
    if (value === null) return null;
    values[field.name] = value;
  }
  return values;
}
