/** The texts of docs/ that callers need; those for operators stay with the sources. */
export const references: ReadonlySet<string> = new Set([
  'api',
  'clients',
  'keys',
  'idempotency',
  'regions',
  'failover',
  'fidelity',
  'native',
  'money',
  'prices',
  'security',
  'threats',
]);

/** A link between texts leads to the page of that text, and is plain text where there is none. */
export function documentLink(href: string): string | null {
  if (/^(#|https:|mailto:)/.test(href)) return href;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return references.has(name) ? `/developers/${name}${anchor}` : null;
}

export const errorsPath = '/api-docs/errors';

/** `error:code` in a text is the code, linked to its entry in the catalogue. */
export const linkCodes = (text: string): string =>
  text.replace(/\berror:([a-z0-9_]+)/g, (_whole, code: string) => `[\`${code}\`](${errorsPath}#${code})`);
