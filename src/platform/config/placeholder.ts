const placeholderWords = [
  'changeme',
  'secret',
  'example',
  'password',
  'placeholder',
  'replaceme',
  'insertkey',
  'yourkey',
];
const minLength = 32;

/** Reason why a secret is unfit for production; undefined if it is fit. Never repeats the secret. */
export function placeholderProblem(secret: unknown): string | undefined {
  if (typeof secret !== 'string') return undefined;
  if (secret.length < minLength) return `must have at least ${minLength} characters in production`;
  const plain = secret.toLowerCase().replaceAll(/[\s_-]/g, '');
  if (placeholderWords.some((word) => plain.includes(word)))
    return 'looks like a placeholder; production needs a real secret';
  if (new Set(secret).size < 10) return 'repeats too few characters to be a secret';
  return undefined;
}

export function urlPasswordProblem(address: unknown): string | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const plain = new URL(address).password.toLowerCase().replaceAll(/[\s_-]/g, '');
  return placeholderWords.includes(plain)
    ? 'has a placeholder for a password; production needs a real one'
    : undefined;
}
