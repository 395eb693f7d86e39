import fc from 'fast-check';
import { fault } from '../../../src/kernel';
import { CallSecrets } from '../../../src/routing';

const token = 'sk-aZ09_+/=.secret"of-ours%41';

const secretsOf = (...tokens: string[]): CallSecrets => {
  const secrets = new CallSecrets();
  for (const secretToken of tokens)
    secrets.add({ kind: 'bearer', id: 'x', token: secretToken }, { authorization: `Bearer ${secretToken}` });
  return secrets;
};

const hex = (letter: string, length: number): string =>
  letter.charCodeAt(0).toString(16).padStart(length, '0');
/** Encodings that a character can have in a supplier's response. */
const spellings: readonly ((letter: string) => string)[] = [
  (letter) => letter,
  (letter) => `\\u${hex(letter, 4)}`,
  (letter) => `\\\\u${hex(letter, 4).toUpperCase()}`,
  (letter) => `\\x${hex(letter, 2)}`,
  (letter) => `%${hex(letter, 2)}`,
  (letter) => `%25${hex(letter, 2).toUpperCase()}`,
  (letter) => `&#${letter.charCodeAt(0)};`,
  (letter) => `&#x${hex(letter, 2)};`,
  (letter) => (/\W/.test(letter) ? `\\${letter}` : letter),
];

describe('Call secrets', () => {
  test.each([
    ['as it is', token],
    ['in other letters', token.toUpperCase()],
    ['in JSON', JSON.stringify(token).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(token)).slice(1, -1)],
    ['in a URL', encodeURIComponent(token)],
    ['twice in a URL', encodeURIComponent(encodeURIComponent(token))],
    ['in hexadecimal', Buffer.from(token).toString('hex')],
  ])('are redacted %s', (_how, written) => {
    const redactedText = secretsOf(token).redactText(`before ${written} after`);
    expect(redactedText.replace(/[\\"]/g, '')).toBe('before [redacted] after');
  });

  test('are redacted in base64 at any offset', () => {
    for (const prefix of ['', 'a', 'ab', 'user:']) {
      const text = Buffer.from(`${prefix}${token}`).toString('base64');
      const redactedText = secretsOf(token).redactText(`Basic ${text}`);
      expect(redactedText).toContain('[redacted]');
      expect(Buffer.from(redactedText.slice(6).replace('[redacted]', ''), 'base64').toString()).not.toContain(
        'secret',
      );
    }
  });

  test('are redacted in any encoding of each letter', () => {
    const letters = fc.array(fc.nat(spellings.length - 1), {
      minLength: token.length,
      maxLength: token.length,
    });
    fc.assert(
      fc.property(letters, fc.string(), fc.string(), (ways, before, after) => {
        const written = [...token].map((letter, at) => spellings[ways[at]!]!(letter)).join('');
        // The preceding text must not change the meaning of the first character.
        const text = `${before.replace(/[\\%&#]/g, '')} ${written} ${after}`;
        expect(secretsOf(token).redactText(text)).toContain('[redacted]');
      }),
      { numRuns: 500 },
    );
  });

  test('include every form of credential and values derived from it', () => {
    const secrets = new CallSecrets();
    secrets.add(
      {
        kind: 'sigv4',
        id: 'x',
        accessKeyId: 'AKIAEXAMPLE',
        secretAccessKey: 'wJalrXUt',
        sessionToken: 'FwoGZXIvYXdz',
      },
      {
        authorization:
          'AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/2026, SignedHeaders=host, Signature=0123abcd4567',
      },
    );
    secrets.add({ kind: 'header', id: 'x', value: 'header-value' }, {});
    secrets.add(
      {
        kind: 'oauth-pool',
        id: 'x',
        accessToken: 'access-1',
        refreshToken: 'refresh-1',
        account: 'acc-0001',
      },
      {},
    );
    const redactedText = secrets.redactText(
      'AKIAEXAMPLE wJalrXUt FwoGZXIvYXdz 0123abcd4567 header-value access-1 refresh-1 acc-0001 host',
    );
    expect(redactedText).toBe(`${'[redacted] '.repeat(8)}host`);
  });

  test('secrets that are too short leave ordinary words unchanged', () => {
    expect(secretsOf('x').redactText('xylophone x')).toBe('xylophone x');
    expect(secretsOf('ollama').redactText('ollama-cloud says: key ollama is wrong')).toBe(
      'ollama-cloud says: key [redacted] is wrong',
    );
  });

  test('leave a clean fault unchanged and are redacted in every part of another', () => {
    const cleanFault = fault('upstream_timeout', { cause: new Error('no answer') });
    expect(secretsOf(token).redactFault(cleanFault)).toBe(cleanFault);
    const faultWithSecrets = fault('invalid_request', {
      message: `bad ${token}`,
      param: token,
      status: 400,
      details: { supplier: { message: token, [token]: [{ code: token }] } },
      cause: new Error(`with ${token}`),
    });
    const { options } = secretsOf(token).redactFault(faultWithSecrets);
    expect(JSON.stringify(options)).not.toContain('secret');
    expect(options).toMatchObject({ message: 'bad [redacted]', param: '[redacted]', status: 400 });
    expect(options.cause).toBeUndefined();
  });

  test('are redacted in linear time for hostile text', () => {
    const secrets = secretsOf(token);
    const startedAt = performance.now();
    for (const text of [
      '\\'.repeat(200_000),
      '%25'.repeat(70_000),
      'sk-'.repeat(70_000),
      '&#'.repeat(100_000),
    ])
      secrets.redactText(text);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
