const redacted = '[redacted]';
const omitted = '[omitted]';
const maxTextLength = 8_192;

/** Names that contain the first pattern, or end with the second, are secret. */
const secretName = /secret|password|passwd|passphrase|authorization|cookie|credential|pepper/;
const secretSuffix = /(?:^|_)(?:api)?(?:keys?|tokens?|pin|otp)$/;

/**
 * The contents of requests and responses are never logged: not directly, in a supplier's error text, or as values of a
 * failed statement.
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
  // A JSON parser quotes the text at which it failed.
  [/(?:Unexpected token [^]|")[^]{0,100}? is not valid JSON/g, `${redacted} is not valid JSON`],
];

/** Removes secrets and contents from a plain JSON value. Counts and flags are kept: they reveal nothing. */
export function redact(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return replacementFor(name) ?? redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  const replacement = replacementFor(name);
  if (replacement) return replacement;
  if (Array.isArray(value)) return value.map((item) => redact(item));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item, key)]));
}

export function redactText(text: string): string {
  const bounded =
    text.length > maxTextLength ? `${text.slice(0, maxTextLength)}… (${text.length} characters)` : text;
  return patterns.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), bounded);
}

function replacementFor(name: string): string | undefined {
  if (name === '') return undefined;
  const plain = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[-.\s]+/g, '_');
  if (secretName.test(plain) || secretSuffix.test(plain)) return redacted;
  return content.has(plain) ? omitted : undefined;
}
