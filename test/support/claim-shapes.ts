import { randomBytes } from 'node:crypto';

/** Claims about a new user, and the expected outcome of the sign-in. */
export interface ClaimShape {
  readonly what: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Signed in with the stored values; rejected because the email address is invalid; or not recognised. */
  readonly outcome: 'entered' | 'no address' | 'not recognised';
  readonly name?: string;
}

const randomId = (): string => randomBytes(8).toString('hex');
const validClaims = (): Record<string, unknown> => ({
  sub: randomId(),
  email: `${randomId()}@example.com`,
  email_verified: true,
  name: 'Ina Roth',
});

const subjects: readonly (readonly [what: string, sub: unknown])[] = [
  ['no subject', undefined],
  ['an empty subject', ''],
  ['a blank subject', '   '],
  ['null', null],
  ['an object', {}],
  ['an object with toString', { toString: 'x' }],
  ['a list', ['x']],
  ['an empty list', []],
  ['a number', 7],
  ['zero', 0],
  ['true', true],
  ['a subject with a line feed', 'a\nb'],
  ['a subject with CRLF', 'a\r\nb'],
  ['a subject with NUL', 'a\0b'],
  ['a subject with a tab', 'a\tb'],
  ['a subject with a separator of lines', 'a\u2028b'],
  ['half of a character', 'a\ud800'],
  ['a blank before', ' a'],
  ['a blank behind', 'a '],
  ['256 characters', 'a'.repeat(256)],
  ['a megabyte', 'a'.repeat(100_000)],
];
const addresses: readonly (readonly [what: string, email: unknown])[] = [
  ['no address', undefined],
  ['an empty address', ''],
  ['a blank address', ' '],
  ['null', null],
  ['an object', { address: 'a@example.com' }],
  ['a list', ['a@example.com']],
  ['a number', 7],
  ['true', true],
  ['an at sign', '@'],
  ['nothing before the at sign', '@example.com'],
  ['nothing behind the at sign', 'a@'],
  ['two at signs', 'a@b@example.com'],
  ['no at sign', 'example.com'],
  ['CRLF', 'a@example.com\r\nBcc: b@example.com'],
  ['a line feed', 'a@example.com\n'.concat('b')],
  ['NUL', 'a\0@example.com'],
  ['a blank within', 'a b@example.com'],
  ['a comma', 'a@example.com,b@example.com'],
  ['a semicolon', 'a@example.com;b@example.com'],
  ['a name around it', 'Ina <a@example.com>'],
  ['quotes', '"a"@example.com'],
  ['brackets', '(a)@example.com'],
  ['a backslash', 'a\\b@example.com'],
  ['410 characters', `${'a'.repeat(398)}@example.com`],
  ['255 characters', `${'a'.repeat(243)}@example.com`],
  ['half of a character', 'a\udc00@example.com'],
];
const unverifiedValues: readonly unknown[] = [undefined, null, false, 'true', 1, {}, ['true']];
const names: readonly (readonly [what: string, name: unknown, kept?: string])[] = [
  ['no name', undefined],
  ['an empty name', ''],
  ['null', null],
  ['an object', {}],
  ['a list', ['Ina']],
  ['a number', 7],
  ['a name with CRLF', 'Ina\r\nRoth'],
  ['a name with NUL', 'Ina\0'],
  ['a name of 500 characters', 'x'.repeat(500), 'x'.repeat(100)],
  ['a name of 200 pictures', '🎧'.repeat(200), '🎧'.repeat(100)],
  ['blanks around it', '  Ina Roth  ', 'Ina Roth'],
  ['half of a character', 'Ina \ud800'],
];

/** Returns more than sixty shapes, with new addresses and subjects on each call. */
export const createClaimShapes = (): readonly ClaimShape[] => [
  { what: 'an honest person', claims: validClaims(), outcome: 'entered', name: 'Ina Roth' },
  {
    what: 'a subject of 255 characters',
    claims: { ...validClaims(), sub: randomId().padEnd(255, 'x') },
    outcome: 'entered',
  },
  ...subjects.map(([what, sub]) => ({
    what: `subject: ${what}`,
    claims: { ...validClaims(), sub },
    outcome: 'not recognised' as const,
  })),
  ...addresses.map(([what, email]) => ({
    what: `address: ${what}`,
    claims: { ...validClaims(), email },
    outcome: 'no address' as const,
  })),
  ...unverifiedValues.map((proof) => ({
    what: `verified: ${JSON.stringify(proof) ?? 'nothing'}`,
    claims: { ...validClaims(), email_verified: proof },
    outcome: 'no address' as const,
  })),
  ...names.map(([what, name, kept]) => {
    const claims: Record<string, unknown> = { ...validClaims(), name };
    const defaultName = String(claims['email']).split('@')[0] ?? '';
    return { what: `name: ${what}`, claims, outcome: 'entered' as const, name: kept ?? defaultName };
  }),
];

/** Maps the final response of the sign-in to an outcome. */
export function outcomeOf(status: number, code: unknown): string {
  if (status === 303) return 'entered';
  if (status === 403 && code === 'email_not_verified') return 'no address';
  return status === 400 && code === 'invalid_request' ? 'not recognised' : `${status} ${String(code)}`;
}
