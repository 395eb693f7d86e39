import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemActor } from '#product/audit';
import { Ledger } from '#product/billing';
import { Metrics, QueueSupervisor, RepeatingJobs } from '#product/platform';
import { Quarantine } from '#product/quarantine';
import type { TestApp } from '../../support/app';
import { signIn } from '../../support/users';
import { administer } from '../../support/postgres';
import { until } from '../../support/until';
import { COST_AFTER, COST_BEFORE, CREDIT, RestoredFixture } from './restored-fixture';

const PAGE = '/dashboard/admin/quarantine';
const USD = 1_000_000_000n;

const decisions = {
  keys: 'keep',
  journals: 'charge',
  payments: 'take',
  mails: 'drop',
} as const;

interface QuarantineResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function send(
  app: TestApp,
  method: string,
  path: string,
  more: Readonly<Record<string, string>> = {},
  json?: object,
): Promise<QuarantineResponse> {
  const response = await fetch(`${app.url}${path}`, {
    method,
    redirect: 'manual',
    headers: { ...more, ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const page = (app: TestApp, path: string, cookie?: string): Promise<QuarantineResponse> =>
  send(app, 'GET', path, { accept: 'text/html', ...(cookie === undefined ? {} : { cookie }) });

const postAction = (app: TestApp, cookie: string, name: string, json: object): Promise<QuarantineResponse> =>
  send(app, 'POST', `${PAGE}/${name}`, { cookie, 'sec-fetch-site': 'same-origin' }, json);

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

const countWaitingMails = async (app: TestApp): Promise<number> =>
  (await app.application.get(QueueSupervisor).waiting())['mail'] ?? 0;

describe('A restored installation', () => {
  let fixture: RestoredFixture;
  beforeEach(async () => {
    fixture = await RestoredFixture.open();
  });
  afterEach(() => fixture.close());

  test('refuses callers, visitors and webhook senders with an explanation', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    const authorization = `Bearer ${fixture.key.text}`;
    const chatResponse = await send(
      app,
      'POST',
      '/v1/chat/completions',
      { authorization },
      { model: 'x', messages: [] },
    );
    expect(chatResponse.status).toBe(503);
    expect(chatResponse.headers.get('retry-after')).toBe('60');
    expect(JSON.parse(chatResponse.text)).toMatchObject({ error: { code: 'service_unavailable' } });
    const message = await send(
      app,
      'POST',
      '/v1/messages',
      { 'x-api-key': fixture.key.text },
      { model: 'x' },
    );
    expect([message.status, JSON.parse(message.text)]).toMatchObject([503, { type: 'error' }]);
    expect((await send(app, 'GET', '/v1/models', { authorization })).status).toBe(503);
    expect((await send(app, 'POST', '/api/billing/processor/webhook', {}, {})).status).toBe(503);
    expect((await send(app, 'GET', '/health/ready')).status).toBe(503);
    expect((await send(app, 'GET', '/health/live')).status).toBe(200);
    expect((await page(app, '/pricing')).status).toBe(503);
    const [sheet = ''] = /\/assets\/[^"]+\.css[^"]*/.exec((await page(app, '/login')).text) ?? [];
    expect((await send(app, 'GET', sheet)).status).toBe(200);
    const keysPage = await page(app, '/dashboard/keys');
    expect([keysPage.status, keysPage.headers.get('location')]).toEqual([303, PAGE]);
  });

  // "A directory opens accounts during quarantine"
  test('opens no account for a directory user', async () => {
    fixture.markRestored();
    const app = await fixture.start({ EXTENSIONS: './test/fixtures/extensions/directory.cjs' });
    const signInResponse = await send(
      app,
      'POST',
      '/auth/login',
      { 'sec-fetch-site': 'same-origin' },
      { provider: 'directory/acme', user_name: 'ina', password: 'right horse', terms: 'on' },
    );
    expect([signInResponse.status, signInResponse.text]).toEqual([
      503,
      expect.stringContaining('restored from a backup'),
    ]);
    expect(await app.database.query("SELECT 1 FROM user_account WHERE email = 'ina@acme.example'")).toEqual(
      [],
    );
  });

  test('ends all sessions and links, lets only owners sign in again, and shows them the pending groups', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    expect((await page(app, PAGE, fixture.formerCookie)).headers.get('location')).toContain('/login?next=');
    await expect(signIn(app, fixture.administrator)).rejects.toMatchObject({ code: 'service_unavailable' });
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    const { status, text } = await page(app, PAGE, cookie);
    expect(status).toBe(200);
    expect(text).toContain('base-0007');
    expect(text).toContain(fixture.key.publicId);
    for (const group of ['keys', 'journals', 'payments', 'mails']) expect(text).toContain(`name="${group}"`);
    for (const group of ['nodes', 'taps', 'evaluations']) expect(text).not.toContain(`name="${group}"`);
    expect(text).toContain('Unknown here');
    expect(await balance(app, fixture.owner)).toBe(CREDIT);
    expect(fixture.heldJournals).toEqual(['lost-node.1.journal', 'restored.json']);
    expect(await countWaitingMails(app)).toBe(1);
    expect(await actions(app)).toEqual(['quarantine.begun']);
  });

  test('stays quarantined after a restart and requires a decision for each group', async () => {
    fixture.markRestored();
    await (await fixture.start()).close();
    const app = await fixture.start();
    expect((await send(app, 'GET', '/v1/models')).status).toBe(503);
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    const refusal = await postAction(app, cookie, 'release', { ...decisions, mails: '' });
    expect(refusal.status).toBe(422);
    expect(refusal.text).toContain('mails');
    expect((await send(app, 'GET', '/v1/models')).status).toBe(503);
    expect(await actions(app)).toEqual(['quarantine.begun']);
  });

  test.each([
    ['charge', COST_BEFORE + COST_AFTER, ['restored.json']],
    ['leave', COST_BEFORE, ['lost-node.1.journal.left', 'restored.json']],
  ])('handles journals by the decision to %s on release', async (journals, cost, left) => {
    fixture.markRestored();
    const app = await fixture.start();
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    const releaseResponse = await postAction(app, cookie, 'release', { ...decisions, journals });
    expect([releaseResponse.status, releaseResponse.text]).toEqual([200, '{"ok":true}']);
    const authorization = `Bearer ${fixture.key.text}`;
    expect((await send(app, 'GET', '/v1/models', { authorization })).status).toBe(200);
    expect((await send(app, 'GET', '/health/ready')).status).toBe(200);
    // The interim top-up was credited; the ledger is verified at the end of the test.
    expect(await balance(app, fixture.owner)).toBe(CREDIT + 10n * USD - cost);
    expect(fixture.heldJournals).toEqual(left);
    expect(await countWaitingMails(app)).toBe(0);
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
    expect((await page(app, PAGE, cookie)).text).toContain('Released at');
    await expect(signIn(app, fixture.administrator)).resolves.toContain('svc_session');
  });

  test('keeps its keys disabled if an owner revokes them all', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    expect((await postAction(app, cookie, 'release', { ...decisions, keys: 'revoke' })).status).toBe(200);
    const authorization = `Bearer ${fixture.key.text}`;
    await until(async () => (await send(app, 'GET', '/v1/models', { authorization })).status === 401);
    expect(await app.database.query("SELECT FROM activity WHERE action = 'key.revoked'")).toHaveLength(2);
  });

  test('revokes a single key', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    const cookie = await signIn(app, fixture.owner);
    expect((await postAction(app, cookie, 'revoke-key', { key: fixture.key.publicId })).status).toBe(200);
    expect((await postAction(app, cookie, 'revoke-key', { key: 'nobody' })).status).toBe(404);
    expect(
      await app.database.query("SELECT FROM api_key WHERE status = 'revoked' AND public_id = $1", [
        fixture.key.publicId,
      ]),
    ).toHaveLength(1);
    expect(await app.database.query("SELECT FROM activity WHERE action = 'key.revoked'")).toHaveLength(1);
  });

  test('cannot be released while the processor is unreachable, and can be afterwards', async () => {
    fixture.markRestored();
    await fixture.simulator.stop();
    const app = await fixture.start();
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    expect((await page(app, PAGE, cookie)).text).toContain('The payment processor did not answer');
    expect((await postAction(app, cookie, 'release', decisions)).status).toBe(503);
    expect((await send(app, 'GET', '/v1/models')).status).toBe(503);
    expect((await postAction(app, cookie, 'release', { ...decisions, payments: 'later' })).status).toBe(200);
    expect((await send(app, 'GET', '/health/ready')).status).toBe(200);
  });

  test('serves no requests until the interim charges are settled, which is retried', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    expect(await isQuarantined(app)).toBe(1);
    const cookie = await signIn(app, fixture.owner);
    await postAction(app, cookie, 'look', {});
    const { ownerUrl } = fixture.database;
    await administer(
      ownerUrl,
      `CREATE FUNCTION refuse_for_space() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$`,
    );
    await administer(
      ownerUrl,
      `CREATE TRIGGER no_space BEFORE INSERT ON request_record FOR EACH ROW EXECUTE FUNCTION refuse_for_space()`,
    );
    const refusal = await postAction(app, cookie, 'release', decisions);
    expect([refusal.status, refusal.text]).toEqual([503, expect.stringContaining('no space left on device')]);
    // The decision is carried out except for the charges, and no requests are served without them.
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
    expect((await send(app, 'GET', '/v1/models')).status).toBe(503);
    expect((await send(app, 'GET', '/health/ready')).status).toBe(503);
    expect(await isQuarantined(app)).toBe(1);
    expect(await balance(app, fixture.owner)).toBe(CREDIT + 10n * USD);
    expect(fixture.heldJournals).toEqual(['lost-node.1.journal', 'restored.json']);
    await until(() => app.log.join('').includes('the quarantine cannot be released yet'));

    await administer(ownerUrl, 'DROP FUNCTION refuse_for_space CASCADE');
    await until(async () => (await send(app, 'GET', '/health/ready')).status === 200);
    expect(await balance(app, fixture.owner)).toBe(CREDIT + 10n * USD - COST_BEFORE - COST_AFTER);
    expect(await app.database.query('SELECT FROM request_record')).toHaveLength(2);
    expect(fixture.heldJournals).toEqual(['restored.json']);
    expect(await isQuarantined(app)).toBe(0);
    expect(await actions(app)).toEqual(['quarantine.begun', 'quarantine.decided', 'quarantine.released']);
  });

  test('runs no job before its release, which the command line can perform', async () => {
    fixture.markRestored();
    const app = await fixture.start();
    expect(app.application.get(Quarantine).isOpen).toBe(true);
    expect(app.application.get(RepeatingJobs).names.length).toBeGreaterThan(0);
    expect(await app.database.query('SELECT FROM repeating_job WHERE claimed_until IS NOT NULL')).toEqual([]);
    expect(app.log.join('')).toContain('is quarantined');
    const { store: book } = app.application.get(Quarantine);
    const interimRecords = await book.details((await book.latest())!);
    const allDecisions = { ...decisions, nodes: 'keep', evaluations: 'run', taps: 'replay' } as const;
    await book.recordDecisions(interimRecords, allDecisions, systemActor('command line'));
    await until(async () => (await send(app, 'GET', '/health/ready')).status === 200);
    expect(app.application.get(Quarantine).isOpen).toBe(false);
  });
});

test('an installation that was never restored has no quarantine page and no link to it', async () => {
  const fixture = await RestoredFixture.open();
  try {
    const app = await fixture.start();
    const cookie = await signIn(app, fixture.owner);
    expect((await page(app, PAGE, cookie)).status).toBe(404);
    expect((await page(app, PAGE, await signIn(app, fixture.administrator))).status).toBe(403);
    expect((await send(app, 'GET', '/health/ready')).status).toBe(200);
    expect(await balance(app, fixture.owner)).toBe(CREDIT - COST_BEFORE - COST_AFTER);
    expect(existsSync(join(fixture.folder, 'set-aside'))).toBe(false);
  } finally {
    await fixture.close();
  }
});
