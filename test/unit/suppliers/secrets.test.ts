import fc from 'fast-check';
import { fault } from '../../../src/kernel';
import { CallSecrets } from '../../../src/routing';

const token = 'sk-aZ09_+/=.secret"of-ours%41';

const secretsOf = (...tokens: string[]): CallSecrets => {
  const secrets = new CallSecrets();
  for (const one of tokens)
    secrets.add({ kind: 'bearer', id: 'x', token: one }, { authorization: `Bearer ${one}` });
  return secrets;
};

const hex = (letter: string, length: number): string =>
  letter.charCodeAt(0).toString(16).padStart(length, '0');
/** One character may be written in these ways on its way back to us. */
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

describe('the secrets of a call', () => {
  test.each([
    ['as it is', token],
    ['in other letters', token.toUpperCase()],
    ['in JSON', JSON.stringify(token).slice(1, -1)],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(token)).slice(1, -1)],
    ['in a URL', encodeURIComponent(token)],
    ['twice in a URL', encodeURIComponent(encodeURIComponent(token))],
    ['in hexadecimal', Buffer.from(token).toString('hex')],
  ])('are blanked %s', (_how, written) => {
    const blanked = secretsOf(token).redactText(`before ${written} after`);
    expect(blanked.replace(/[\\"]/g, '')).toBe('before [redacted] after');
  });

  test('are blanked in base64, wherever they begin there', () => {
    for (const before of ['', 'a', 'ab', 'user:']) {
      const text = Buffer.from(`${before}${token}`).toString('base64');
      const blanked = secretsOf(token).redactText(`Basic ${text}`);
      expect(blanked).toContain('[redacted]');
      expect(Buffer.from(blanked.slice(6).replace('[redacted]', ''), 'base64').toString()).not.toContain(
        'secret',
      );
    }
  });

  test('are blanked however each letter is written', () => {
    const letters = fc.array(fc.nat(spellings.length - 1), {
      minLength: token.length,
      maxLength: token.length,
    });
    fc.assert(
      fc.property(letters, fc.string(), fc.string(), (ways, before, after) => {
        const written = [...token].map((letter, at) => spellings[ways[at]!]!(letter)).join('');
        // The text before must not make another text of the beginning.
        const text = `${before.replace(/[\\%&#]/g, '')} ${written} ${after}`;
        expect(secretsOf(token).redactText(text)).toContain('[redacted]');
      }),
      { numRuns: 500 },
    );
  });

  test('are those of every form of credential, and what was made of them', () => {
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
    const told = secrets.redactText(
      'AKIAEXAMPLE wJalrXUt FwoGZXIvYXdz 0123abcd4567 header-value access-1 refresh-1 acc-0001 host',
    );
    expect(told).toBe(`${'[redacted] '.repeat(8)}host`);
  });

  test('too short to be secrets leave words alone', () => {
    expect(secretsOf('x').redactText('xylophone x')).toBe('xylophone x');
    expect(secretsOf('ollama').redactText('ollama-cloud says: key ollama is wrong')).toBe(
      'ollama-cloud says: key [redacted] is wrong',
    );
  });

  test('leave a failure that does not hold them as it is, and take them out of every part of another', () => {
    const clean = fault('upstream_timeout', { cause: new Error('no answer') });
    expect(secretsOf(token).redactFault(clean)).toBe(clean);
    const dirty = fault('invalid_request', {
      message: `bad ${token}`,
      param: token,
      status: 400,
      details: { supplier: { message: token, [token]: [{ code: token }] } },
      cause: new Error(`with ${token}`),
    });
    const { options } = secretsOf(token).redactFault(dirty);
    expect(JSON.stringify(options)).not.toContain('secret');
    expect(options).toMatchObject({ message: 'bad [redacted]', param: '[redacted]', status: 400 });
    expect(options.cause).toBeUndefined();
  });

  test('take no longer for a hostile text', () => {
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
