import Handlebars from 'handlebars';

/** What a field takes, as attributes of its control. */
export interface FieldAttributes {
  readonly required?: boolean;
  readonly type?: 'number';
  readonly step?: string;
  readonly min?: string;
  readonly max?: string;
  readonly minlength?: string;
  readonly maxlength?: string;
  readonly pattern?: string;
}

/** The fields of the form that an address takes; null for an address that declares none. */
export type DeclaredFields = (action: string) => ReadonlyMap<string, FieldAttributes> | null;

const ATTRIBUTES = String.raw`(?:[^>"]|"[^"]*")*`;
const form = new RegExp(`<form\\b(${ATTRIBUTES})>[^]*?</form>`, 'g');
const control = new RegExp(`<(input|select|textarea)\\b(${ATTRIBUTES})>`, 'g');

/** What a person types into or chooses from; boxes, files and hidden fields have their own ways. */
const typed = new Set([
  'text',
  'search',
  'email',
  'url',
  'tel',
  'number',
  'password',
  'date',
  'datetime-local',
]);
const ofText = ['minlength', 'maxlength'] as const;
const ofNumber = ['type', 'step', 'min', 'max'] as const;

/**
 * Gives the controls of every form what their fields take, so that a browser says it before the form is sent. It edits
 * the engine's HTML, whose attributes are quoted and escaped, so that no template repeats a bound.
 */
export const withDeclaredFields = (html: string, declaredAt: DeclaredFields): string =>
  html.replaceAll(form, (markup: string, attributes: string) => {
    if (!attributes.includes(' method="post"') && !attributes.startsWith('method="post"')) return markup;
    const declared = declaredAt(attributeOf(attributes, 'action') ?? '');
    if (declared === null) return markup;
    return markup.replaceAll(control, (tag: string, kind: string, given: string) => {
      const field = declared.get(attributeOf(given, 'name') ?? '');
      return field === undefined
        ? tag
        : `<${kind}${withAttributes(given, attributesFor(kind, given, field))}>`;
    });
  });

const attributeOf = (attributes: string, name: string): string | undefined =>
  new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1];

function attributesFor(kind: string, given: string, field: FieldAttributes): FieldAttributes {
  const type = kind === 'input' ? (attributeOf(given, 'type') ?? 'text') : kind;
  const { required, pattern } = field;
  const always = required === true ? { required } : {};
  if (kind === 'select') return always;
  if (kind === 'textarea') return { ...always, ...chosen(field, ofText) };
  if (!typed.has(type)) return {};
  if (field.type === 'number') return { ...always, ...chosen(field, ofNumber) };
  if (type.startsWith('date')) return always;
  // An address of mail has the browser's own check.
  return {
    ...always,
    ...chosen(field, ofText),
    ...(pattern === undefined || type === 'email' ? {} : { pattern }),
  };
}

const chosen = (field: FieldAttributes, names: readonly (keyof FieldAttributes)[]): FieldAttributes =>
  Object.fromEntries(names.flatMap((name) => (field[name] === undefined ? [] : [[name, field[name]]])));

function withAttributes(given: string, wanted: FieldAttributes): string {
  let result = given;
  for (const [name, value] of Object.entries(wanted) as [string, string | true][]) {
    const bare = result.replace(new RegExp(`\\s${name}(?:="[^"]*")?(?=\\s|$)`), '');
    result = `${bare} ${name}${value === true ? '' : `="${Handlebars.escapeExpression(value)}"`}`;
  }
  return result;
}
