import fc from 'fast-check';
import { masterKeyOf, MasterKeys, rewrap, SecretBox, type SealedSecret } from '../../../src/platform/secrets';

const place = { table: 'provider_credential', row: '7', field: 'secret', host: 'https://north.example' };
const box = new SecretBox(MasterKeys.parse('a-master-key'));

test('what was sealed opens again, where it belongs', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (secret) => {
      const sealed = box.seal(secret.toWellFormed(), place);
      expect(box.open(sealed, place)).toEqual({ ok: true, value: secret.toWellFormed() });
    }),
    { numRuns: 50 },
  );
});

test.each(['table', 'row', 'field', 'host'] as const)('moved to another %s it does not open', (part) => {
  const sealed = box.seal('sk-secret', place);
  expect(box.open(sealed, { ...place, [part]: `${place[part]}x` })).toEqual({ ok: false, error: 'altered' });
});

test('places that join to the same text are still different places', () => {
  const sealed = box.seal('sk-secret', { table: 't', row: '1|', field: 'f', host: 'h' });
  expect(box.open(sealed, { table: 't', row: '1', field: '|f', host: 'h' }).ok).toBe(false);
});

test('one flipped bit anywhere is noticed', () => {
  const sealed = box.seal('sk-secret', place);
  for (const part of ['ciphertext', 'nonce', 'wrappedKey'] as const) {
    for (let at = 0; at < sealed[part].length; at += 1) {
      const altered = Buffer.from(sealed[part]);
      altered[at]! ^= 1;
      expect(box.open({ ...sealed, [part]: altered }, place).ok).toBe(false);
    }
  }
});

test.each([0, 1, 15, 24])('cut to %d bytes it does not open either', (length) => {
  const sealed = box.seal('sk-secret', place);
  const cut: SealedSecret = { ...sealed, wrappedKey: sealed.wrappedKey.subarray(0, length) };
  expect(box.open(cut, place)).toEqual({ ok: false, error: 'altered' });
  expect(box.open({ ...sealed, ciphertext: sealed.ciphertext.subarray(0, length) }, place).ok).toBe(false);
});

test('the same secret never looks the same twice', () => {
  const [one, two] = [box.seal('sk-secret', place), box.seal('sk-secret', place)];
  expect(one.ciphertext.equals(two.ciphertext)).toBe(false);
  expect(one.wrappedKey.equals(two.wrappedKey)).toBe(false);
});

test('a former key reads, the current one writes, a strange one says so', () => {
  const sealed = box.seal('sk-secret', place);
  const turned = new SecretBox(MasterKeys.parse('a-new-key, a-master-key'));
  expect(turned.open(sealed, place)).toEqual({ ok: true, value: 'sk-secret' });
  expect(turned.seal('x', place).keyId).toBe(masterKeyOf('a-new-key').id);
  expect(new SecretBox(MasterKeys.parse('a-new-key')).open(sealed, place)).toEqual({
    ok: false,
    error: 'unknown-key',
  });
});

test('rewrapped, only the new key opens it and the ciphertext is untouched', () => {
  const sealed = box.seal('sk-secret', place);
  const [from, to] = [masterKeyOf('a-master-key'), masterKeyOf('a-new-key')];
  const wrapped = rewrap(sealed, place, from, to);
  if (!wrapped.ok) throw new Error(wrapped.error);
  const moved = { ...sealed, ...wrapped.value };
  expect(new SecretBox(new MasterKeys([to])).open(moved, place)).toEqual({ ok: true, value: 'sk-secret' });
  expect(box.open(moved, place).ok).toBe(false);
  expect(rewrap(sealed, place, to, from)).toEqual({ ok: false, error: 'altered' });
});

test('the name of a key says nothing about it', () => {
  const { id, key } = masterKeyOf('a-master-key');
  expect(key.toString('base64url')).not.toContain(id);
  expect(masterKeyOf('a-master-kez').id).not.toBe(id);
});
