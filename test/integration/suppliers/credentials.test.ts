import {
  CredentialEditor,
  CredentialStore,
  ProviderCredential,
  TokenEvents,
  sealedCredentials,
} from '#product/catalogue';
import { Logger } from '#inside/boot/packages';
import { MasterKeys, masterKeyOf, rewrapColumn, SecretBox } from '#product/platform';
import { CatalogueFixture, errorWithCode } from '../catalogue/catalogue-fixture';
import type { CatalogueSnapshot } from '../../../src/catalogue/snapshot';

const secret = 'sk-canary-0123456789';

let fixture: CatalogueFixture;
let editor: CredentialEditor;
let north: { id: number };
beforeAll(async () => {
  Logger.overrideLogger(false);
  fixture = await CatalogueFixture.open();
  editor = new CredentialEditor(boxOf('first-master'));
  north = await fixture.provider('north');
});
afterAll(() => fixture.close());

const boxOf = (setting: string): SecretBox => new SecretBox(MasterKeys.parse(setting));

/** Loads a credential store once, like a node with this master key. */
async function loadStore(setting: string): Promise<CredentialStore> {
  let load: ((snapshot: CatalogueSnapshot) => Promise<void>) | undefined;
  const follow = (follower: typeof load): void => void (load = follower);
  const credentials = fixture.database.source.getRepository(ProviderCredential);
  const store = new CredentialStore(credentials, boxOf(setting), { follow });
  await load?.(await fixture.snapshot());
  return store;
}

const put = (label: string, text = secret, providerId = north.id) =>
  fixture.write((tx) => editor.put(tx, { providerId, label, kind: 'bearer', secret: text }));

test('a stored secret shows its last four characters and resolves to its text', async () => {
  const storedCredential = await put('main');
  expect(storedCredential).toMatchObject({
    label: 'main',
    kind: 'bearer',
    last4: '6789',
    fits: true,
    health: 'unknown',
  });
  expect(JSON.stringify(storedCredential)).not.toContain('canary');
  const store = await loadStore('first-master');
  expect(store.resolve(north.id)).toEqual({ kind: 'bearer', id: storedCredential.id, token: secret });
  expect(store.resolve(999)).toBeNull();
  expect(store.stateOf(999)).toBe('missing');
});

test('the database contains no plain-text secret', async () => {
  const rows = await fixture.database.query<Record<string, unknown>>('SELECT * FROM provider_credential');
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    for (const value of Object.values(row)) {
      expect(Buffer.isBuffer(value) ? value.toString('latin1') : String(value)).not.toContain('canary');
    }
  }
});

test('a secret with the same label replaces the former one', async () => {
  const firstCredential = await put('main');
  const secondCredential = await put('main', 'sk-another-abcdefgh');
  expect(secondCredential).toMatchObject({ id: firstCredential.id, last4: 'efgh' });
  expect(await fixture.write((tx) => editor.list(tx, north.id))).toHaveLength(1);
});

test('a host changed outside the editor makes the secret unreadable until it is entered again', async () => {
  const { id } = await fixture.provider('moving');
  await put('key', secret, id);
  const move = (baseUrl: string) =>
    fixture.database.query('UPDATE provider SET base_url = $2 WHERE id = $1', [id, baseUrl]);
  await move('https://moving.example/another/path');
  expect((await loadStore('first-master')).stateOf(id)).toBe('ready');
  for (const baseUrl of [
    'https://elsewhere.example',
    'http://moving.example',
    'https://moving.example:8443',
  ]) {
    await move(baseUrl);
    const store = await loadStore('first-master');
    expect([baseUrl, store.resolve(id), store.stateOf(id)]).toEqual([baseUrl, null, 'unreadable']);
    expect(await fixture.write((tx) => editor.list(tx, id))).toMatchObject([{ fits: false }]);
  }
  await put('key', 'sk-entered-again', id);
  expect((await loadStore('first-master')).resolve(id)).toMatchObject({ token: 'sk-entered-again' });
});

test('the editor deletes the secret when the host changes and keeps it when only the path changes', async () => {
  const { id } = await fixture.provider('leading');
  await put('key', secret, id);
  const move = (baseUrl: string) => fixture.write((tx) => fixture.editor.upsertProvider(tx, { id, baseUrl }));
  await move('https://leading.example/another/path');
  expect((await loadStore('first-master')).stateOf(id)).toBe('ready');
  await move('https://elsewhere.example');
  await move('https://leading.example');
  expect((await loadStore('first-master')).stateOf(id)).toBe('missing');
  expect(await fixture.write((tx) => editor.list(tx, id))).toEqual([]);
});

test('pool tokens are bound to the host of their token URL', async () => {
  const oauth = (token_url: string) => ({
    name: 'pool',
    style: 'native-oauth',
    baseUrl: 'https://pool.example',
    settings: { oauth: { token_url } },
  });
  const { id } = await fixture.write((tx) =>
    fixture.editor.upsertProvider(tx, oauth('https://auth.example/token')),
  );
  await fixture.write((tx) =>
    editor.put(tx, {
      providerId: id,
      label: 'one',
      kind: 'oauth-pool',
      secret: { accessToken: 'a', refreshToken: 'r' },
    }),
  );
  expect((await loadStore('first-master')).tokensOf(id)).toHaveLength(1);
  await fixture.write((tx) => fixture.editor.upsertProvider(tx, oauth('https://thief.example/token')));
  expect((await loadStore('first-master')).tokensOf(id)).toHaveLength(0);
});

test('a ciphertext copied to another row cannot be decrypted', async () => {
  const [source, target] = [await fixture.provider('source'), await fixture.provider('target')];
  await put('key', 'sk-of-the-source', source.id);
  await put('key', 'sk-of-the-target', target.id);
  await fixture.database.query(
    `UPDATE provider_credential t SET ciphertext = s.ciphertext, nonce = s.nonce, wrapped_key = s.wrapped_key, host = s.host
     FROM provider_credential s WHERE s.provider_id = $1 AND t.provider_id = $2`,
    [source.id, target.id],
  );
  const store = await loadStore('first-master');
  expect(store.resolve(source.id)).toMatchObject({ token: 'sk-of-the-source' });
  expect(store.stateOf(target.id)).toBe('unreadable');
});

test('disabling a credential deletes the secret and frees the label', async () => {
  const { id } = await fixture.provider('leaving');
  const storedCredential = await put('key', secret, id);
  await fixture.write((tx) => editor.disable(tx, storedCredential.id));
  expect((await loadStore('first-master')).stateOf(id)).toBe('missing');
  const [row] = await fixture.database.query<{ size: number }>(
    'SELECT length(ciphertext || nonce || wrapped_key) AS size FROM provider_credential WHERE id = $1',
    [storedCredential.id],
  );
  expect(row?.size).toBe(0);
  await expect(fixture.write((tx) => editor.disable(tx, storedCredential.id))).rejects.toMatchObject(
    errorWithCode('not_found'),
  );
  expect((await put('key', secret, id)).id).not.toBe(storedCredential.id);
});

test('removing a provider deletes its secrets', async () => {
  const { id } = await fixture.provider('closing');
  await put('key', secret, id);
  await fixture.write((tx) => fixture.editor.removeProvider(tx, id));
  const [row] = await fixture.database.query<{ size: number }>(
    'SELECT length(ciphertext || nonce || wrapped_key) AS size FROM provider_credential WHERE provider_id = $1',
    [id],
  );
  expect(row?.size).toBe(0);
});

test.each([
  ['bearer', 'sk\r\nx-injected: 1', 'secret'],
  ['bearer', '', 'secret'],
  ['header', { token: 'x' }, 'secret'],
  ['sigv4', { accessKeyId: 'AKID' }, 'secret.secretAccessKey'],
  ['sigv4', 'AKID', 'secret'],
  ['oauth-pool', { accessToken: 'a', expiresAt: 'soon' }, 'secret.expiresAt'],
] as const)('refuses a %s credential with the secret %j', async (kind, text, param) => {
  const attempt = fixture.write((tx) =>
    editor.put(tx, { providerId: north.id, label: 'bad', kind, secret: text }),
  );
  await expect(attempt).rejects.toMatchObject({ code: 'validation_error', options: { param } });
});

describe('A changed master key', () => {
  test('prevents the start when it cannot read stored secrets', async () => {
    await expect(loadStore('second-master')).rejects.toThrow('MASTER_KEY cannot read');
  });

  test('reads both together with the former key, and rewrapping in batches can be resumed', async () => {
    const { id } = await fixture.provider('many');
    for (let n = 0; n < 5; n += 1) await put(`key ${n}`, `sk-number-${n}-abcdef`, id);
    const [from, to] = [masterKeyOf('first-master'), masterKeyOf('second-master')];
    const ciphertexts = () =>
      fixture.database.query(
        'SELECT id, ciphertext FROM provider_credential WHERE disabled_at IS NULL ORDER BY id',
      );
    const ciphertextsBefore = await ciphertexts();
    let batches = 0;
    const interruptedDatabase = {
      transaction: <T>(work: (tx: never) => Promise<T>) =>
        ++batches === 3
          ? Promise.reject(new Error('the power went'))
          : fixture.database.transaction(work as never),
    } as unknown as typeof fixture.database;
    const rewrapOn = (database: typeof fixture.database) =>
      Promise.all(
        sealedCredentials.map((column) => rewrapColumn(database, column, { from, to }, { batch: 2 })),
      );
    await expect(rewrapOn(interruptedDatabase)).rejects.toThrow('the power went');
    const [first] = await rewrapOn(fixture.database);
    expect(first?.rewrapped).toBeGreaterThan(0);
    // Copied between rows by an earlier test, so it is unreadable and stays unchanged.
    expect(first?.unreadable).toHaveLength(1);
    expect(await rewrapOn(fixture.database)).toEqual([{ rewrapped: 0, unreadable: first?.unreadable }]);
    expect(await ciphertexts()).toEqual(ciphertextsBefore);
    const store = await loadStore('second-master, first-master');
    expect(store.resolve(id)).toMatchObject({ token: 'sk-number-4-abcdef' });
  });
});

test('token events can be filtered by every field, newest first and limited', async () => {
  const events = new TokenEvents(fixture.database);
  const { id } = await put('token');
  const event = {
    credentialId: id,
    provider: 'north',
    keyName: 'one',
    kind: 'limited',
    source: 'call',
    errorKind: '429',
  } as const;
  await events.record(event);
  await events.record({ ...event, keyName: 'two', kind: 'refreshed', source: 'refresh', errorKind: '' });
  await events.record({
    ...event,
    provider: 'south',
    kind: 'rejected',
    errorKind: '401',
    detail: 'x'.repeat(900),
  });
  const kinds = async (query: Parameters<TokenEvents['find']>[0]) =>
    (await events.find(query)).map(({ kind }) => kind);
  expect(await kinds({})).toEqual(['rejected', 'refreshed', 'limited']);
  expect(await kinds({ provider: 'north' })).toEqual(['refreshed', 'limited']);
  expect(await kinds({ keyName: 'two' })).toEqual(['refreshed']);
  expect(await kinds({ kinds: 'limited, rejected' })).toEqual(['rejected', 'limited']);
  expect(await kinds({ source: 'refresh' })).toEqual(['refreshed']);
  expect(await kinds({ errorKind: '429' })).toEqual(['limited']);
  expect(await kinds({ limit: 1, offset: 1 })).toEqual(['refreshed']);
  expect(await kinds({ limit: -5, offset: -5, windowHours: 1e12, sinceMs: Number.NaN })).toEqual([]);
  expect(await kinds({ sinceMs: Date.now() + 60_000 })).toEqual([]);
  expect(await kinds({ windowHours: 0 })).toEqual([]);
  expect((await events.find({ provider: 'south' }))[0]?.detail).toHaveLength(500);
  expect(await events.deleteBefore(new Date(Date.now() + 60_000))).toBe(3);
});
