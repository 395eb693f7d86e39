import {
  CredentialEditor,
  CredentialStore,
  ProviderCredential,
  TokenEvents,
  sealedCredentials,
} from '#product/catalogue';
import { Logger } from '#inside/boot/packages';
import { MasterKeys, masterKeyOf, rewrapColumn, SecretBox } from '#product/platform';
import { CatalogueHouse, refusal } from '../catalogue/catalogue-house';
import type { CatalogueSnapshot } from '../../../src/catalogue/snapshot';

const secret = 'sk-canary-0123456789';

let house: CatalogueHouse;
let editor: CredentialEditor;
let north: { id: number };
beforeAll(async () => {
  Logger.overrideLogger(false);
  house = await CatalogueHouse.open();
  editor = new CredentialEditor(boxOf('first-master'));
  north = await house.provider('north');
});
afterAll(() => house.close());

const boxOf = (setting: string): SecretBox => new SecretBox(MasterKeys.parse(setting));

/** A store as a node has it, loaded once. */
async function storeWith(setting: string): Promise<CredentialStore> {
  let load: ((snapshot: CatalogueSnapshot) => Promise<void>) | undefined;
  const follow = (follower: typeof load): void => void (load = follower);
  const credentials = house.database.source.getRepository(ProviderCredential);
  const store = new CredentialStore(credentials, boxOf(setting), { follow });
  await load?.(await house.snapshot());
  return store;
}

const put = (label: string, text = secret, providerId = north.id) =>
  house.write((tx) => editor.put(tx, { providerId, label, kind: 'bearer', secret: text }));

test('a stored secret is shown as its last four characters and resolves to itself', async () => {
  const stored = await put('main');
  expect(stored).toMatchObject({
    label: 'main',
    kind: 'bearer',
    last4: '6789',
    fits: true,
    health: 'unknown',
  });
  expect(JSON.stringify(stored)).not.toContain('canary');
  const store = await storeWith('first-master');
  expect(store.resolve(north.id)).toEqual({ kind: 'bearer', id: stored.id, token: secret });
  expect(store.resolve(999)).toBeNull();
  expect(store.stateOf(999)).toBe('missing');
});

test('the database does not hold it in the clear', async () => {
  const rows = await house.database.query<Record<string, unknown>>('SELECT * FROM provider_credential');
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) {
    for (const value of Object.values(row)) {
      expect(Buffer.isBuffer(value) ? value.toString('latin1') : String(value)).not.toContain('canary');
    }
  }
});

test('the same label takes the new secret in its place', async () => {
  const before = await put('main');
  const after = await put('main', 'sk-another-abcdefgh');
  expect(after).toMatchObject({ id: before.id, last4: 'efgh' });
  expect(await house.write((tx) => editor.list(tx, north.id))).toHaveLength(1);
});

test('another host, past the editor: the secret no longer opens and has to be entered again', async () => {
  const { id } = await house.provider('moving');
  await put('key', secret, id);
  const move = (baseUrl: string) =>
    house.database.query('UPDATE provider SET base_url = $2 WHERE id = $1', [id, baseUrl]);
  await move('https://moving.example/another/path');
  expect((await storeWith('first-master')).stateOf(id)).toBe('ready');
  for (const baseUrl of [
    'https://elsewhere.example',
    'http://moving.example',
    'https://moving.example:8443',
  ]) {
    await move(baseUrl);
    const store = await storeWith('first-master');
    expect([baseUrl, store.resolve(id), store.stateOf(id)]).toEqual([baseUrl, null, 'unreadable']);
    expect(await house.write((tx) => editor.list(tx, id))).toMatchObject([{ fits: false }]);
  }
  await put('key', 'sk-entered-again', id);
  expect((await storeWith('first-master')).resolve(id)).toMatchObject({ token: 'sk-entered-again' });
});

test('another host, by the editor: the secret is wiped; another path keeps it', async () => {
  const { id } = await house.provider('leading');
  await put('key', secret, id);
  const move = (baseUrl: string) => house.write((tx) => house.editor.upsertProvider(tx, { id, baseUrl }));
  await move('https://leading.example/another/path');
  expect((await storeWith('first-master')).stateOf(id)).toBe('ready');
  await move('https://elsewhere.example');
  await move('https://leading.example');
  expect((await storeWith('first-master')).stateOf(id)).toBe('missing');
  expect(await house.write((tx) => editor.list(tx, id))).toEqual([]);
});

test('where the tokens of a pool are renewed is bound like the host', async () => {
  const oauth = (token_url: string) => ({
    name: 'pool',
    style: 'native-oauth',
    baseUrl: 'https://pool.example',
    settings: { oauth: { token_url } },
  });
  const { id } = await house.write((tx) =>
    house.editor.upsertProvider(tx, oauth('https://auth.example/token')),
  );
  await house.write((tx) =>
    editor.put(tx, {
      providerId: id,
      label: 'one',
      kind: 'oauth-pool',
      secret: { accessToken: 'a', refreshToken: 'r' },
    }),
  );
  expect((await storeWith('first-master')).tokensOf(id)).toHaveLength(1);
  await house.write((tx) => house.editor.upsertProvider(tx, oauth('https://thief.example/token')));
  expect((await storeWith('first-master')).tokensOf(id)).toHaveLength(0);
});

test('a ciphertext copied into another row opens nothing', async () => {
  const [source, target] = [await house.provider('source'), await house.provider('target')];
  await put('key', 'sk-of-the-source', source.id);
  await put('key', 'sk-of-the-target', target.id);
  await house.database.query(
    `UPDATE provider_credential t SET ciphertext = s.ciphertext, nonce = s.nonce, wrapped_key = s.wrapped_key, host = s.host
     FROM provider_credential s WHERE s.provider_id = $1 AND t.provider_id = $2`,
    [source.id, target.id],
  );
  const store = await storeWith('first-master');
  expect(store.resolve(source.id)).toMatchObject({ token: 'sk-of-the-source' });
  expect(store.stateOf(target.id)).toBe('unreadable');
});

test('disabled, the secret is wiped and the label is free again', async () => {
  const { id } = await house.provider('leaving');
  const stored = await put('key', secret, id);
  await house.write((tx) => editor.disable(tx, stored.id));
  expect((await storeWith('first-master')).stateOf(id)).toBe('missing');
  const [row] = await house.database.query<{ size: number }>(
    'SELECT length(ciphertext || nonce || wrapped_key) AS size FROM provider_credential WHERE id = $1',
    [stored.id],
  );
  expect(row?.size).toBe(0);
  await expect(house.write((tx) => editor.disable(tx, stored.id))).rejects.toMatchObject(
    refusal('not_found'),
  );
  expect((await put('key', secret, id)).id).not.toBe(stored.id);
});

test('a provider that is removed takes its secrets with it', async () => {
  const { id } = await house.provider('closing');
  await put('key', secret, id);
  await house.write((tx) => house.editor.removeProvider(tx, id));
  const [row] = await house.database.query<{ size: number }>(
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
] as const)('refused as %s: %j', async (kind, text, param) => {
  const refused = house.write((tx) =>
    editor.put(tx, { providerId: north.id, label: 'bad', kind, secret: text }),
  );
  await expect(refused).rejects.toMatchObject({ code: 'validation_error', options: { param } });
});

describe('another master key', () => {
  test('that cannot read what is stored stops the boot', async () => {
    await expect(storeWith('second-master')).rejects.toThrow('MASTER_KEY cannot read');
  });

  test('beside the former one reads both, and rewrapping in batches can be resumed', async () => {
    const { id } = await house.provider('many');
    for (let n = 0; n < 5; n += 1) await put(`key ${n}`, `sk-number-${n}-abcdef`, id);
    const [from, to] = [masterKeyOf('first-master'), masterKeyOf('second-master')];
    const ciphertexts = () =>
      house.database.query(
        'SELECT id, ciphertext FROM provider_credential WHERE disabled_at IS NULL ORDER BY id',
      );
    const before = await ciphertexts();
    let batches = 0;
    const interrupted = {
      transaction: <T>(work: (tx: never) => Promise<T>) =>
        ++batches === 3
          ? Promise.reject(new Error('the power went'))
          : house.database.transaction(work as never),
    } as unknown as typeof house.database;
    const rewrapIn = (database: typeof house.database) =>
      Promise.all(
        sealedCredentials.map((column) => rewrapColumn(database, column, { from, to }, { batch: 2 })),
      );
    await expect(rewrapIn(interrupted)).rejects.toThrow('the power went');
    const [first] = await rewrapIn(house.database);
    expect(first?.rewrapped).toBeGreaterThan(0);
    // Copied between rows above: nobody can read it, and it stays as it is.
    expect(first?.unreadable).toHaveLength(1);
    expect(await rewrapIn(house.database)).toEqual([{ rewrapped: 0, unreadable: first?.unreadable }]);
    expect(await ciphertexts()).toEqual(before);
    const store = await storeWith('second-master, first-master');
    expect(store.resolve(id)).toMatchObject({ token: 'sk-number-4-abcdef' });
  });
});

test('what happened to tokens is found by every filter, newest first and bounded', async () => {
  const events = new TokenEvents(house.database);
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
