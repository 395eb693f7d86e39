/** Kinds of data that are removed from a text before a judge reads it. */
type RedactedKind = 'email' | 'key' | 'iban' | 'card' | 'ip' | 'phone';
export type RedactionCounts = Partial<Record<RedactedKind, number>>;

interface RedactionRule {
  readonly kind: RedactedKind;
  readonly pattern: RegExp;
  /** Rejects matches that only look like one. */
  readonly isValid?: (text: string) => boolean;
}

/** Rules run in this order: a later rule does not see what an earlier one removed. */
const rules: readonly RedactionRule[] = [
  { kind: 'email', pattern: /[\w.+-]{1,64}@[a-z\d](?:[a-z\d-]{0,62}\.){1,8}[a-z]{2,24}\b/gi },
  {
    kind: 'key',
    pattern:
      /-----BEGIN [A-Z ]{1,40}PRIVATE KEY-----[\s\S]{0,8000}?-----END [A-Z ]{1,40}PRIVATE KEY-----|\beyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,1000}|\b(?:sk|pk|rk|ghp|gho|ghs|xox[abpsr]|glpat|AKIA|ASIA|AIza|whsec)[-_]?[A-Za-z\d_-]{12,200}|\b(?:svc|npm|hf|ghu|ghr)_[A-Za-z\d]{30,200}|\bgithub_pat_\w{20,255}|\bBearer\s+[\w.~+/=-]{16,400}/g,
  },
  { kind: 'iban', pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/g, isValid: isIban },
  { kind: 'card', pattern: /\b\d(?:[ -]?\d){12,18}\b/g, isValid: isCard },
  {
    kind: 'ip',
    pattern:
      /\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b|(?<![\w:])(?:[\da-f]{1,4}:){7}[\da-f]{1,4}(?![\w:])|(?<![\w:])(?:(?:[\da-f]{1,4}:){2,6}(?::[\da-f]{1,4}){1,6}|[\da-f]{4}:(?::[\da-f]{1,4}){1,6})(?![\w:])/gi,
  },
  {
    kind: 'phone',
    pattern:
      /(?<![\w.])(?:\+|00)[1-9]\d{0,2}[ ./-]?(?:\(\d{1,4}\)[ ./-]?)?\d(?:[ ./-]?\d){6,12}(?![\w])|(?<![\w.])\(?0\d{2,4}\)?[ ./-]\d(?:[ ./-]?\d){5,9}(?![\w])/g,
  },
];

/** Replaces what is redacted with its kind in brackets, and adds to `counts`. */
export function redact(text: string, counts: RedactionCounts): string {
  return rules.reduce(
    (remaining, { kind, pattern, isValid }) =>
      remaining.replace(pattern, (match) => {
        if (isValid?.(match) === false) return match;
        counts[kind] = (counts[kind] ?? 0) + 1;
        return `[${kind}]`;
      }),
    text,
  );
}

/** Verifies the check digits of ISO 13616. */
function isIban(text: string): boolean {
  const compact = text.replaceAll(' ', '');
  if (compact.length < 15 || compact.length > 34) return false;
  let rest = 0;
  for (const letter of compact.slice(4) + compact.slice(0, 4)) {
    const value = Number.parseInt(letter, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** Verifies the check digit of ISO 7812. */
function isCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  let sum = 0;
  for (const [index, digit] of [...digits].reverse().entries()) {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return digits.length >= 13 && digits.length <= 19 && sum % 10 === 0;
}
