const redacted = '[redacted]';
const omitted = '[omitted]';
const longest = 8_192;

/** A name with the first words anywhere is secret, and so is one with the second at its end. */
const anywhere = /secret|password|passwd|passphrase|authorization|cookie|credential|pepper/;
const atTheEnd = /(?:^|_)(?:api)?(?:keys?|tokens?|pin|otp)$/;

/**
 * The contents of requests and answers are never logged: not directly, not in a supplier's error text, and not as
 * values of a failed statement.
 */
const content = new Set([
  'prompt',
  'messages',
  'body',
  'raw_body',
  'input',
  'output',
  'content',
  'instructions',
  'supplier',
  'parameters',
  'detail',
]);

const patterns: readonly [RegExp, string][] = [
  [/\b(svc_|sk-|[sr]k_(?:live|test)_|whsec_)[\w-]{12,}/g, `$1${redacted}`],
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, `$1 ${redacted}`],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"']*@/gi, `$1${redacted}@`],
  // A parser of JSON quotes the place where it gave up.
  [/(?:Unexpected token [^]|")[^]{0,100}? is not valid JSON/g, `${redacted} is not valid JSON`],
];

/** Takes what may not be written out of a value made of plain JSON. Counts and flags pass: they give nothing away. */
export function redact(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return nameVerdict(name) ?? redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  const verdict = nameVerdict(name);
  if (verdict) return verdict;
  if (Array.isArray(value)) return value.map((item) => redact(item));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item, key)]));
}

export function redactText(text: string): string {
  const bounded = text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
  return patterns.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), bounded);
}

function nameVerdict(name: string): string | undefined {
  if (name === '') return undefined;
  const plain = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[-.\s]+/g, '_');
  if (anywhere.test(plain) || atTheEnd.test(plain)) return redacted;
  return content.has(plain) ? omitted : undefined;
}
