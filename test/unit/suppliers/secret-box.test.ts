import fc from 'fast-check';
import { masterKeyOf, MasterKeys, rewrap, SecretBox, type SealedSecret } from '../../../src/platform/secrets';

const location = { table: 'provider_credential', row: '7', field: 'secret', host: 'https://north.example' };
const box = new SecretBox(MasterKeys.parse('a-master-key'));

test('sealed secret opens at its location', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (secret) => {
      const sealed = box.seal(secret.toWellFormed(), location);
      expect(box.open(sealed, location)).toEqual({ ok: true, value: secret.toWellFormed() });
    }),
    { numRuns: 50 },
  );
});

test.each(['table', 'row', 'field', 'host'] as const)(
  'sealed secret moved to another %s does not open',
  (part) => {
    const sealed = box.seal('sk-secret', location);
    expect(box.open(sealed, { ...location, [part]: `${location[part]}x` })).toEqual({
      ok: false,
      error: 'altered',
    });
  },
);

test('locations that join to the same text stay distinct', () => {
  const sealed = box.seal('sk-secret', { table: 't', row: '1|', field: 'f', host: 'h' });
  expect(box.open(sealed, { table: 't', row: '1', field: '|f', host: 'h' }).ok).toBe(false);
});

test('any flipped bit is detected', () => {
  const sealed = box.seal('sk-secret', location);
  for (const part of ['ciphertext', 'nonce', 'wrappedKey'] as const) {
    for (let at = 0; at < sealed[part].length; at += 1) {
      const altered = Buffer.from(sealed[part]);
      altered[at]! ^= 1;
      expect(box.open({ ...sealed, [part]: altered }, location).ok).toBe(false);
    }
  }
});

test.each([0, 1, 15, 24])('sealed secret cut to %d bytes does not open', (length) => {
  const sealed = box.seal('sk-secret', location);
  const truncated: SealedSecret = { ...sealed, wrappedKey: sealed.wrappedKey.subarray(0, length) };
  expect(box.open(truncated, location)).toEqual({ ok: false, error: 'altered' });
  expect(box.open({ ...sealed, ciphertext: sealed.ciphertext.subarray(0, length) }, location).ok).toBe(false);
});

test('sealing a secret twice yields different ciphertexts', () => {
  const [one, two] = [box.seal('sk-secret', location), box.seal('sk-secret', location)];
  expect(one.ciphertext.equals(two.ciphertext)).toBe(false);
  expect(one.wrappedKey.equals(two.wrappedKey)).toBe(false);
});

test('former key decrypts, the current key encrypts and an unknown key is reported', () => {
  const sealed = box.seal('sk-secret', location);
  const rotatedBox = new SecretBox(MasterKeys.parse('a-new-key, a-master-key'));
  expect(rotatedBox.open(sealed, location)).toEqual({ ok: true, value: 'sk-secret' });
  expect(rotatedBox.seal('x', location).keyId).toBe(masterKeyOf('a-new-key').id);
  expect(new SecretBox(MasterKeys.parse('a-new-key')).open(sealed, location)).toEqual({
    ok: false,
    error: 'unknown-key',
  });
});

test('rewrapped secret opens with the new key only, and its ciphertext is unchanged', () => {
  const sealed = box.seal('sk-secret', location);
  const [from, to] = [masterKeyOf('a-master-key'), masterKeyOf('a-new-key')];
  const rewrapped = rewrap(sealed, location, from, to);
  if (!rewrapped.ok) throw new Error(rewrapped.error);
  const rewrappedSecret = { ...sealed, ...rewrapped.value };
  expect(new SecretBox(new MasterKeys([to])).open(rewrappedSecret, location)).toEqual({
    ok: true,
    value: 'sk-secret',
  });
  expect(box.open(rewrappedSecret, location).ok).toBe(false);
  expect(rewrap(sealed, location, to, from)).toEqual({ ok: false, error: 'altered' });
});

test('key id reveals nothing about the key', () => {
  const { id, key } = masterKeyOf('a-master-key');
  expect(key.toString('base64url')).not.toContain(id);
  expect(masterKeyOf('a-master-kez').id).not.toBe(id);
});
