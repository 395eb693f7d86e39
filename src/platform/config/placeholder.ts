const words = [
  'changeme',
  'secret',
  'example',
  'password',
  'placeholder',
  'replaceme',
  'insertkey',
  'yourkey',
];
const shortest = 32;

/** A secret is unfit for production for this reason, or fit (`undefined`); the text never repeats the secret. */
export function placeholderFault(secret: unknown): string | undefined {
  if (typeof secret !== 'string') return undefined;
  if (secret.length < shortest) return `must have at least ${shortest} characters in production`;
  const plain = secret.toLowerCase().replaceAll(/[\s_-]/g, '');
  if (words.some((word) => plain.includes(word)))
    return 'looks like a placeholder; production needs a real secret';
  if (new Set(secret).size < 10) return 'repeats too few characters to be a secret';
  return undefined;
}

export function urlPasswordFault(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const plain = new URL(address).password.toLowerCase().replaceAll(/[\s_-]/g, '');
  return words.includes(plain) ? 'has a placeholder for a password; production needs a real one' : undefined;
}
