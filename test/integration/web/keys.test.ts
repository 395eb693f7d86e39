import { checksumOf, hashKey, generateKey } from '#inside/keys/key-text';
import { Settings } from '#product/platform';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';
import { sendRaw, type RawAnswer } from './raw-exchange';
import { TrialModule } from './trial.module';
import { until } from '../../support/until';

interface KeyRefusal {
  error: { code: string; message: string; request_id: string };
}

const refusalOf = (answer: RawAnswer): [number, string] => [
  answer.status,
  (JSON.parse(answer.body) as KeyRefusal).error.code,
];
const wordingOf = (answer: RawAnswer): string =>
  answer.body.replaceAll(answer.headers['x-request-id'] ?? '', 'ID');
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const apiKey = (text: string) => ({ 'x-api-key': text });

describe.each(['true', 'false'])('Keys, with LEAN_ADAPTER=%s', (lean) => {
  let app: TestApp;
  let owner: number;
  let client: string;
  let root: string;
  let webchat: string;

  beforeAll(async () => {
    app = await startTestApp({ environment: { LEAN_ADAPTER: lean }, modules: [TrialModule] });
    owner = await addUser(app);
    client = (await addKey(app, owner)).text;
    root = (await addKey(app, null, { kind: 'root' })).text;
    webchat = (await addKey(app, owner, { kind: 'webchat' })).text;
  });
  afterAll(() => app.close());

  const call = (route: 'bearer' | 'either' | 'root', headers: Record<string, string>) =>
    sendRaw(app.url, { path: `/v1/trial/${route}`, headers });

  const identifyKey = async (route: 'bearer' | 'either' | 'root', headers: Record<string, string>) => {
    const answer = await call(route, headers);
    expect(answer.status).toBe(200);
    return (JSON.parse(answer.body) as { key: string }).key;
  };

  test('the right key in the right header is accepted and identified by its public id', async () => {
    const id = client.slice(4, 12);
    expect(await identifyKey('bearer', bearer(client))).toBe(id);
    expect(await identifyKey('bearer', { authorization: `BEARER   ${client}  ` })).toBe(id);
    expect(await identifyKey('either', bearer(client))).toBe(id);
    expect(await identifyKey('either', apiKey(client))).toBe(id);
    expect(await identifyKey('either', { ...apiKey(client), ...bearer(client) })).toBe(id);
    expect(await identifyKey('root', bearer(root))).toBe(root.slice(4, 12));
  });

  test('a request without a key returns 401', async () => {
    for (const route of ['bearer', 'either', 'root'] as const) {
      expect(refusalOf(await call(route, {}))).toEqual([401, 'missing_api_key']);
      expect(refusalOf(await sendRaw(app.url, { path: `/v1/trial/${route}?api_key=${client}` }))).toEqual([
        401,
        'missing_api_key',
      ]);
    }
    expect(refusalOf(await call('bearer', apiKey(client)))).toEqual([401, 'missing_api_key']);
    expect(refusalOf(await call('root', apiKey(root)))).toEqual([401, 'missing_api_key']);
  });

  const lastDigit = (text: string) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');

  test.each<[string, (key: string) => string]>([
    ['nothing', () => ''],
    ['a word', () => 'x'],
    ['another prefix', (key) => key.replace('svc_', 'sk-')],
    ['a wrong checksum', lastDigit],
    ['one digit less', (key) => key.slice(0, -1)],
    ['one digit more', (key) => `${key}0`],
    ['upper case', (key) => key.toUpperCase()],
    ['an unknown key', () => generateKey().text],
    ['SQL', () => "svc_' OR '1'='1"],
    ['more SQL', () => "';DROP/**/TABLE/**/api_key;--"],
    ['8 KB', () => 'A'.repeat(8_192)],
    ['8 KB of it', (key) => key.repeat(130)],
    ['letters of elsewhere', (key) => `${key.slice(0, -1)}\u00e9`],
    ['an object', () => '{"$gt":""}'],
    ['a path', () => '../../../etc/passwd'],
  ])('%s is refused as a key in either header', async (_name, change) => {
    const text = change(client);
    expect(refusalOf(await call('bearer', bearer(text)))).toEqual([401, 'invalid_api_key']);
    expect(refusalOf(await call('either', bearer(text)))).toEqual([401, 'invalid_api_key']);
    expect(refusalOf(await call('either', apiKey(text)))).toEqual([401, 'invalid_api_key']);
    expect(refusalOf(await call('root', bearer(text)))).toEqual([401, 'invalid_api_key']);
  });

  test.each(['\r', '\n', '\0', '\r\nx-api-key: injected'])(
    '%j is refused in a key header',
    async (poison) => {
      for (const headers of [bearer(client + poison), apiKey(client + poison)]) {
        const answer = await call('either', headers);
        expect([400, 401]).toContain(answer.status);
        expect(JSON.parse(answer.body)).toHaveProperty('error.code');
      }
    },
  );

  test.each(['Basic dXNlcjp3b3Jk', 'Bearer', 'Bearer a b', 'Digest x', 'svc_x'])(
    'the authorization scheme %s is refused',
    async (authorization) => {
      expect(refusalOf(await call('bearer', { authorization }))).toEqual([401, 'invalid_api_key']);
      expect(refusalOf(await call('either', { authorization, ...apiKey(client) }))).toEqual([
        401,
        'invalid_api_key',
      ]);
    },
  );

  test('an unknown key and a wrong secret get the same refusal', async () => {
    const otherKey = generateKey();
    const id = client.slice(4, 12);
    await app.database.query('UPDATE api_key SET public_id = $1 WHERE public_id = $2', [
      otherKey.publicId,
      id,
    ]);
    try {
      const wrongSecret = await call('bearer', bearer(otherKey.text));
      const unknownKey = await call('bearer', bearer(generateKey().text));
      expect(wordingOf(wrongSecret)).toBe(wordingOf(unknownKey));
      expect(wrongSecret.status).toBe(401);
    } finally {
      await app.database.query('UPDATE api_key SET public_id = $1 WHERE public_id = $2', [
        id,
        otherKey.publicId,
      ]);
    }
  });

  test('a key with the same prefix as a known one is not accepted', async () => {
    await identifyKey('either', bearer(client));
    const body = client.slice(4, 20) + generateKey().text.slice(20, -6);
    const similarKey = `svc_${body}${checksumOf(body)}`;
    for (const headers of [bearer(similarKey), apiKey(similarKey)]) {
      expect(refusalOf(await call('either', headers))).toEqual([401, 'invalid_api_key']);
    }
    await identifyKey('either', bearer(client));
  });

  test('two different keys in one request are refused', async () => {
    const headers = { ...bearer(client), ...apiKey(webchat) };
    for (const route of ['bearer', 'either'] as const) {
      expect(refusalOf(await call(route, headers))).toEqual([400, 'invalid_request']);
    }
  });

  test('a key of another kind is refused', async () => {
    expect(refusalOf(await call('bearer', bearer(root)))).toEqual([403, 'forbidden']);
    expect(refusalOf(await call('either', apiKey(root)))).toEqual([403, 'forbidden']);
    expect(refusalOf(await call('root', bearer(client)))).toEqual([403, 'forbidden']);
    expect(refusalOf(await call('root', bearer(webchat)))).toEqual([403, 'forbidden']);
    expect(refusalOf(await call('bearer', bearer(webchat)))).toEqual([403, 'webchat_key_scope']);
    expect(refusalOf(await call('either', apiKey(webchat)))).toEqual([403, 'webchat_key_scope']);
  });

  test('a key is refused from the moment it expires', async () => {
    const expiredKey = await addKey(app, owner, { expiresAt: new Date(Date.now() - 1_000) });
    expect(refusalOf(await call('bearer', bearer(expiredKey.text)))).toEqual([401, 'expired_api_key']);
    const expiringKey = await addKey(app, owner, { expiresAt: new Date(Date.now() + 3_000) });
    expect((await call('bearer', bearer(expiringKey.text))).status).toBe(200);
    await until(async () => (await call('bearer', bearer(expiringKey.text))).status === 401);
  });

  const changes: [name: string, sql: string, code: string][] = [
    ['revoked', "UPDATE api_key SET status = 'revoked' WHERE id = $1", 'invalid_api_key'],
    ['disabled', "UPDATE api_key SET status = 'disabled' WHERE id = $1", 'invalid_api_key'],
    ['of a suspended owner', suspend('suspended'), 'account_status'],
    ['of an archived owner', suspend('archived'), 'account_status'],
    ['with another secret', "UPDATE api_key SET secret_hash = sha256('x') WHERE id = $1", 'invalid_api_key'],
  ];

  test('a disabled or changed key is refused soon, and accepted again after the change is undone', async () => {
    await Promise.all(changes.map(([, sql, code]) => changeAndBack(sql, code)));
  });

  async function changeAndBack(sql: string, code: string): Promise<void> {
    const user = await addUser(app);
    const key = await addKey(app, user);
    const isAccepted = async () => (await call('either', bearer(key.text))).status === 200;
    expect(await isAccepted()).toBe(true);
    await app.database.query(sql, [key.id]);
    await until(async () => !(await isAccepted()));
    for (const headers of [bearer(key.text), apiKey(key.text)]) {
      const [status, refusal] = refusalOf(await call('either', headers));
      expect(refusal).toBe(code);
      expect([401, 403]).toContain(status);
    }
    const hash = hashKey(app.application.get(Settings).keyPepper, key.text);
    await app.database.query("UPDATE api_key SET status = 'active', secret_hash = $2 WHERE id = $1", [
      key.id,
      hash,
    ]);
    await app.database.query("UPDATE user_account SET status = 'active' WHERE id = $1", [user]);
    await until(isAccepted);
  }

  test('concurrent requests with a new key cause one database look-up', async () => {
    const key = await addKey(app, owner);
    const responses = await Promise.all(Array.from({ length: 20 }, () => call('bearer', bearer(key.text))));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('no key appears in the log', () => {
    for (const key of [client, root, webchat]) expect(app.log.join('')).not.toContain(key);
  });
});

function suspend(status: string): string {
  return `UPDATE user_account SET status = '${status}' WHERE id = (SELECT user_id FROM api_key WHERE id = $1)`;
}
