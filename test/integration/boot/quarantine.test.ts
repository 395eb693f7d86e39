import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemActor } from '#product/audit';
import { Ledger } from '#product/billing';
import { Metrics, QueueSupervisor, RepeatingJobs } from '#product/platform';
import { Quarantine } from '#product/quarantine';
import type { TestApp } from '../../support/app';
import { signIn } from '../../support/people';
import { administer } from '../../support/postgres';
import { until } from '../../support/until';
import { COST_AFTER, COST_BEFORE, CREDIT, RestoredHouse } from './restored-house';

const PAGE = '/dashboard/admin/quarantine';
const USD = 1_000_000_000n;

const decisions = {
  keys: 'keep',
  journals: 'charge',
  payments: 'take',
  mails: 'drop',
} as const;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function ask(
  app: TestApp,
  method: string,
  path: string,
  more: Readonly<Record<string, string>> = {},
  json?: object,
): Promise<Answer> {
  const response = await fetch(`${app.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...more, ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const page = (app: TestApp, path: string, cookie?: string): Promise<Answer> =>
  ask(app, 'GET', path, { accept: 'text/html', ...(cookie === undefined ? {} : { cookie }) });

const act = (app: TestApp, cookie: string, name: string, json: object): Promise<Answer> =>
  ask(app, 'POST', `${PAGE}/${name}`, { cookie, 'sec-fetch-site': 'same-origin' }, json);

const balance = async (app: TestApp, owner: number): Promise<bigint> =>
  (await app.application.get(Ledger, { strict: false }).wallet(owner)).balance;

const actions = async (app: TestApp): Promise<string[]> =>
  (
    await app.database.query<{ action: string }>(
      "SELECT action FROM activity WHERE action LIKE 'quarantine.%' ORDER BY id",
    )
  ).map(({ action }) => action);

const isQuarantined = async (app: TestApp): Promise<number | undefined> => {
  const text = await app.application.get(Metrics, { strict: false }).text();
  const [, value] = /^gateway_quarantined (\d)$/m.exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
};

const waitingMails = async (app: TestApp): Promise<number> =>
  (await app.application.get(QueueSupervisor).waiting())['mail'] ?? 0;

describe('a restored installation', () => {
  let house: RestoredHouse;
  beforeEach(async () => {
    house = await RestoredHouse.open();
  });
  afterEach(() => house.close());

  test('is closed to callers, visitors and senders, and says so', async () => {
    house.markRestored();
    const app = await house.start();
    const authorization = `Bearer ${house.key.text}`;
    const called = await ask(
      app,
      'POST',
      '/v1/chat/completions',
      { authorization },
      { model: 'x', messages: [] },
    );
    expect(called.status).toBe(503);
    expect(called.headers.get('retry-after')).toBe('60');
    expect(JSON.parse(called.text)).toMatchObject({ error: { code: 'service_unavailable' } });
    const message = await ask(app, 'POST', '/v1/messages', { 'x-api-key': house.key.text }, { model: 'x' });
    expect([message.status, JSON.parse(message.text)]).toMatchObject([503, { type: 'error' }]);
    expect((await ask(app, 'GET', '/v1/models', { authorization })).status).toBe(503);
    expect((await ask(app, 'POST', '/api/billing/processor/webhook', {}, {})).status).toBe(503);
    expect((await ask(app, 'GET', '/health/ready')).status).toBe(503);
    expect((await ask(app, 'GET', '/health/live')).status).toBe(200);
    expect((await page(app, '/pricing')).status).toBe(503);
    const [sheet = ''] = /\/assets\/[^"]+\.css[^"]*/.exec((await page(app, '/login')).text) ?? [];
    expect((await ask(app, 'GET', sheet)).status).toBe(200);
    const elsewhere = await page(app, '/dashboard/keys');
    expect([elsewhere.status, elsewhere.headers.get('location')]).toEqual([303, PAGE]);
  });

  // "A directory opens accounts during quarantine"
  test('opens no account for a person of a directory', async () => {
    house.markRestored();
    const app = await house.start({ EXTENSIONS: './test/fixtures/extensions/directory.cjs' });
    const entered = await ask(
      app,
      'POST',
      '/auth/login',
      { 'sec-fetch-site': 'same-origin' },
      { provider: 'directory/acme', user_name: 'ina', password: 'right horse', terms: 'on' },
    );
    expect([entered.status, entered.text]).toEqual([503, expect.stringContaining('restored from a backup')]);
    expect(await app.database.query("SELECT 1 FROM user_account WHERE email = 'ina@acme.example'")).toEqual(
      [],
    );
  });

  test('ends what let people in, lets owners alone in again, and shows them what lies between', async () => {
    house.markRestored();
    const app = await house.start();
    expect((await page(app, PAGE, house.cookieOfBefore)).headers.get('location')).toContain('/login?next=');
    await expect(signIn(app, house.administrator)).rejects.toMatchObject({ code: 'service_unavailable' });
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    const { status, text } = await page(app, PAGE, cookie);
    expect(status).toBe(200);
    expect(text).toContain('base-0007');
    expect(text).toContain(house.key.publicId);
    for (const group of ['keys', 'journals', 'payments', 'mails']) expect(text).toContain(`name="${group}"`);
    for (const group of ['nodes', 'taps', 'evaluations']) expect(text).not.toContain(`name="${group}"`);
    expect(text).toContain('Unknown here');
    expect(await balance(app, house.owner)).toBe(CREDIT);
    expect(house.setAside).toEqual(['lost-node.1.journal', 'restored.json']);
    expect(await waitingMails(app)).toBe(1);
    expect(await actions(app)).toEqual(['quarantine.begun']);
  });

  test('stays quarantined over a restart, and needs a decision for each group', async () => {
    house.markRestored();
    await (await house.start()).close();
    const app = await house.start();
    expect((await ask(app, 'GET', '/v1/models')).status).toBe(503);
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    const refused = await act(app, cookie, 'release', { ...decisions, mails: '' });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('mails');
    expect((await ask(app, 'GET', '/v1/models')).status).toBe(503);
    expect(await actions(app)).toEqual(['quarantine.begun']);
  });

  test.each([
    ['charge', COST_BEFORE + COST_AFTER, ['restored.json']],
    ['leave', COST_BEFORE, ['lost-node.1.journal.left', 'restored.json']],
  ])('is released, and journals are handled by the decision to %s', async (journals, cost, left) => {
    house.markRestored();
    const app = await house.start();
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    const released = await act(app, cookie, 'release', { ...decisions, journals });
    expect([released.status, released.text]).toEqual([200, '{"ok":true}']);
    const authorization = `Bearer ${house.key.text}`;
    expect((await ask(app, 'GET', '/v1/models', { authorization })).status).toBe(200);
    expect((await ask(app, 'GET', '/health/ready')).status).toBe(200);
    // The top-up of the time between was taken in; the test's end verifies all books.
    expect(await balance(app, house.owner)).toBe(CREDIT + 10n * USD - cost);
    expect(house.setAside).toEqual(left);
    expect(await waitingMails(app)).toBe(0);
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
    expect((await page(app, PAGE, cookie)).text).toContain('Released at');
    await expect(signIn(app, house.administrator)).resolves.toContain('svc_session');
  });

  test('keeps its keys closed where an owner revokes them all', async () => {
    house.markRestored();
    const app = await house.start();
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    expect((await act(app, cookie, 'release', { ...decisions, keys: 'revoke' })).status).toBe(200);
    const authorization = `Bearer ${house.key.text}`;
    await until(async () => (await ask(app, 'GET', '/v1/models', { authorization })).status === 401);
    expect(await app.database.query("SELECT FROM activity WHERE action = 'key.revoked'")).toHaveLength(2);
  });

  test('one key is revoked alone', async () => {
    house.markRestored();
    const app = await house.start();
    const cookie = await signIn(app, house.owner);
    expect((await act(app, cookie, 'revoke-key', { key: house.key.publicId })).status).toBe(200);
    expect((await act(app, cookie, 'revoke-key', { key: 'nobody' })).status).toBe(404);
    expect(
      await app.database.query("SELECT FROM api_key WHERE status = 'revoked' AND public_id = $1", [
        house.key.publicId,
      ]),
    ).toHaveLength(1);
    expect(await app.database.query("SELECT FROM activity WHERE action = 'key.revoked'")).toHaveLength(1);
  });

  test('is not released while the processor cannot be asked, and then is', async () => {
    house.markRestored();
    await house.simulator.stop();
    const app = await house.start();
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    expect((await page(app, PAGE, cookie)).text).toContain('The payment processor did not answer');
    expect((await act(app, cookie, 'release', decisions)).status).toBe(503);
    expect((await ask(app, 'GET', '/v1/models')).status).toBe(503);
    expect((await act(app, cookie, 'release', { ...decisions, payments: 'later' })).status).toBe(200);
    expect((await ask(app, 'GET', '/health/ready')).status).toBe(200);
  });

  test('serves nobody until what was set aside is settled, which is tried again', async () => {
    house.markRestored();
    const app = await house.start();
    expect(await isQuarantined(app)).toBe(1);
    const cookie = await signIn(app, house.owner);
    await act(app, cookie, 'look', {});
    const { ownerUrl } = house.database;
    await administer(
      ownerUrl,
      `CREATE FUNCTION refuse_for_space() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$`,
    );
    await administer(
      ownerUrl,
      `CREATE TRIGGER no_space BEFORE INSERT ON request_record FOR EACH ROW EXECUTE FUNCTION refuse_for_space()`,
    );
    const refused = await act(app, cookie, 'release', decisions);
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('no space left on device')]);
    // The decision is carried out but for the charges, and nobody is served without them.
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
    expect((await ask(app, 'GET', '/v1/models')).status).toBe(503);
    expect((await ask(app, 'GET', '/health/ready')).status).toBe(503);
    expect(await isQuarantined(app)).toBe(1);
    expect(await balance(app, house.owner)).toBe(CREDIT + 10n * USD);
    expect(house.setAside).toEqual(['lost-node.1.journal', 'restored.json']);
    await until(() => app.log.join('').includes('the quarantine cannot be released yet'));

    await administer(ownerUrl, 'DROP FUNCTION refuse_for_space CASCADE');
    await until(async () => (await ask(app, 'GET', '/health/ready')).status === 200);
    expect(await balance(app, house.owner)).toBe(CREDIT + 10n * USD - COST_BEFORE - COST_AFTER);
    expect(await app.database.query('SELECT FROM request_record')).toHaveLength(2);
    expect(house.setAside).toEqual(['restored.json']);
    expect(await isQuarantined(app)).toBe(0);
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
  });

  test('runs no job before its release, which a command may bring', async () => {
    house.markRestored();
    const app = await house.start();
    expect(app.application.get(Quarantine).isOpen).toBe(true);
    expect(app.application.get(RepeatingJobs).names.length).toBeGreaterThan(0);
    expect(await app.database.query('SELECT FROM repeating_job WHERE claimed_until IS NOT NULL')).toEqual([]);
    expect(app.log.join('')).toContain('is quarantined');
    const { store: book } = app.application.get(Quarantine);
    const between = await book.details((await book.latest())!);
    const all = { ...decisions, nodes: 'keep', evaluations: 'run', taps: 'replay' } as const;
    await book.recordDecisions(between, all, systemActor('command line'));
    await until(async () => (await ask(app, 'GET', '/health/ready')).status === 200);
    expect(app.application.get(Quarantine).isOpen).toBe(false);
  });
});

test('an installation that was never restored has no such page, and nothing of it', async () => {
  const house = await RestoredHouse.open();
  try {
    const app = await house.start();
    const cookie = await signIn(app, house.owner);
    expect((await page(app, PAGE, cookie)).status).toBe(404);
    expect((await page(app, PAGE, await signIn(app, house.administrator))).status).toBe(403);
    expect((await ask(app, 'GET', '/health/ready')).status).toBe(200);
    expect(await balance(app, house.owner)).toBe(CREDIT - COST_BEFORE - COST_AFTER);
    expect(existsSync(join(house.folder, 'set-aside'))).toBe(false);
  } finally {
    await house.close();
  }
});
