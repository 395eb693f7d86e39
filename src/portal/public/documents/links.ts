/** Documents under docs/ that are relevant to API users; the others are for operators. */
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

/** Converts a link between documents to the page's address; null if there is no such page. */
export function documentLink(href: string): string | null {
  if (/^(#|https:|mailto:)/.test(href)) return href;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(href) ?? [];
  return references.has(name) ? `/developers/${name}${anchor}` : null;
}

export const errorsPath = '/api-docs/errors';

/** Replaces `error:code` by the code with a link to its catalogue entry. */
export const linkCodes = (text: string): string =>
  text.replace(/\berror:([a-z0-9_]+)/g, (_match, code: string) => `[\`${code}\`](${errorsPath}#${code})`);
