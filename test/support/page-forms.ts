/** Parses the forms of a page as a browser would. */

export interface PageField {
  readonly name: string;
  readonly type: string;
  readonly inputMode: string | undefined;
  readonly value: string;
  /** False for an unchecked box, which a browser does not send. */
  readonly isSent: boolean;
  readonly isRequired: boolean;
  /** Values offered by a select. */
  readonly options: readonly string[];
  readonly limits: Readonly<Record<Limit, string | undefined>>;
}

const limits = ['min', 'max', 'minlength', 'maxlength', 'pattern'] as const;
type Limit = (typeof limits)[number];

export interface PageForm {
  readonly action: string;
  readonly fields: readonly PageField[];
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];

export const decoded = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&#x3D;', '=')
    .replaceAll('&#x60;', '`')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** Returns the forms that change something, i.e. POST forms. */
export const parseForms = (html: string): PageForm[] =>
  [...html.matchAll(/<form\b[^>]*>[^]*?<\/form>/g)]
    .map(([markup]) => markup)
    .filter((markup) => attribute(markup, 'method') === 'post')
    .map((markup) => ({
      action: decoded(attribute(markup, 'action') ?? ''),
      fields: [...markup.matchAll(/<(input|select|textarea)\b([^>]*)>(?:([^]*?)<\/\1>)?/g)].flatMap(
        parseField,
      ),
    }));

function parseField([, kind, attributes = '', inside = '']: RegExpExecArray): PageField[] {
  const name = attribute(attributes, 'name');
  if (name === undefined || / disabled\b/.test(attributes)) return [];
  const type = kind === 'input' ? (attribute(attributes, 'type') ?? 'text') : (kind ?? '');
  const options = kind === 'select' ? [...inside.matchAll(/<option\b([^>]*)>/g)].map(([tag]) => tag) : [];
  const selectedOption = options.find((tag) => tag.includes(' selected')) ?? options[0] ?? '';
  const value =
    kind === 'select'
      ? attribute(selectedOption, 'value')
      : kind === 'textarea'
        ? inside
        : attribute(attributes, 'value');
  const isSent = !['checkbox', 'radio'].includes(type) || / checked\b/.test(attributes);
  const isRequired = / required\b/.test(attributes);
  return [
    {
      name,
      type,
      inputMode: attribute(attributes, 'inputmode'),
      value: decoded(value ?? ''),
      isSent,
      isRequired,
      options: options.map((tag) => decoded(attribute(tag, 'value') ?? '')),
      limits: Object.fromEntries(
        limits.map((limit) => {
          const limitValue = attribute(attributes, limit);
          return [limit, limitValue === undefined ? undefined : decoded(limitValue)];
        }),
      ) as PageField['limits'],
    },
  ];
}
