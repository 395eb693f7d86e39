import { Ledger, PostgresMoneyStore } from '#product/billing';
import { PriceService } from '#product/catalogue';
import { executeCommand } from '#inside/commands/run-command';
import { UserAccount } from '#product/identity';
import { platformScope, parseUsdPerMillion, priceRates, uuidv7 } from '#product/kernel';
import { KeysService } from '#product/keys';
import { startSimulator, type Simulator } from '../../support/simulator';
import { administer, createTestDatabase, type TestDatabase } from '../../support/postgres';
import { startTestApp, type TestApp } from '../../support/app';

const dollar = 1_000_000_000n;

describe('The money commands of a running service', () => {
  let app: TestApp;
  let database: TestDatabase;
  let supplier: Simulator;
  let wallet: number;
  let spent: bigint;

  beforeAll(async () => {
    supplier = await startSimulator();
    database = await createTestDatabase();
    app = await startTestApp({ sandboxUrl: supplier.url, sharedDatabase: database });
    const key = await app.database.transaction(async (tx) => {
      const people = tx.getRepository(UserAccount);
      const user = people.create({ email: 'ann@example.com', displayName: 'Ann', status: 'active' });
      await people.insert(user);
      wallet = user.id;
      const posting = {
        walletId: wallet,
        amount: dollar,
        against: 'promotion',
        kind: 'welcome',
        ref: 'ann',
      } as const;
      await app.application.get(Ledger, { strict: false }).post(tx, posting);
      const owner = { userId: wallet, organisationId: null, departmentId: null, projectId: null };
      return app.application
        .get(KeysService, { strict: false })
        .issue(platformScope, tx, { ...owner, kind: 'client', name: 'ann', createdBy: 'test' });
    });
    for (const text of ['one [[tokens=100]]', 'two [[tokens=50]] [[cached=64]]', 'three [[tokens=7]]']) {
      const answer = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key.text}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sim-large',
          max_tokens: 500,
          messages: [{ role: 'user', content: text }],
        }),
      });
      expect(answer.status).toBe(200);
    }
    spent = dollar - (await balance());
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
    await supplier.stop();
  });

  const balance = async (): Promise<bigint> =>
    (await app.application.get(Ledger, { strict: false }).wallet(wallet)).balance;

  const run = async (...words: string[]): Promise<{ code: number; output: string }> => {
    let output = '';
    const write = (text: string): void => {
      output += text;
    };
    const environment = { ...app.environment, LOG_LEVEL: 'silent' };
    const code = await executeCommand(words, {
      environment,
      write,
      writeStderr: write,
      confirm: () => Promise.resolve(true),
    });
    return { code, output };
  };
  const dateRange = ['--from', '2026-01-01', '--to', '2100-01-01'];

  test('journal:forget lists money held by dead nodes and releases it on request', async () => {
    const store = new PostgresMoneyStore(app.database);
    const lease = uuidv7();
    await store.beat(lease, 'lost-node', true, 'gone:/data/journal');
    await store.draw(lease, 1, [{ ref: { kind: 'wallet', id: wallet }, need: 1_500_000n, want: 1_500_000n }]);
    expect((await run('journal:forget')).output).toContain('No dead node holds anything.\n');
    expect((await run('journal:forget', 'lost-node')).code).toBe(1);
    await administer(
      database.ownerUrl,
      "UPDATE escrow_lease SET expires_at = now() - interval '1 s' WHERE node = 'lost-node'",
    );
    const listResult = await run('journal:forget');
    expect(listResult.output).toMatch(/^lost-node, last heard \S+Z, journal gone:\/data\/journal\n/m);
    expect(listResult.output).toContain(`wallet ${wallet}: 0.0015 USD held`);
    const forgetResult = await run('journal:forget', 'lost-node');
    expect(forgetResult).toMatchObject({ code: 0 });
    expect(forgetResult.output).toContain('Forgotten: what lost-node held is free.');
    expect((await run('journal:forget')).output).toContain('No dead node holds anything.\n');
  });

  test('money:verify passes every check', async () => {
    const { code, output } = await run('money:verify');
    expect(output).toMatch(/money:verify: 6 of 6 hold\n$/);
    expect(code).toBe(0);
  });

  test('money:rerate reproduces every stored cost', async () => {
    const { code, output } = await run('money:rerate', ...dateRange);
    expect(output).toContain('3 records, 0 differ: 0 USD');
    expect(code).toBe(0);
  });

  test('money:rerate of one day covers only that day', async () => {
    const [{ day } = { day: '' }] = await app.database.query<{ day: string }>(
      `SELECT to_char(min(created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM request_record`,
    );
    const { output } = await run('money:rerate', '--from', day, '--to', day);
    expect(output).toMatch(/^[123] records, 0 differ: 0 USD$/m);
    const emptyResult = await run('money:rerate', '--from', day, '--to', `${day}T00:00:00Z`);
    expect(emptyResult.output).toContain('0 records, 0 differ');
  });

  test('money:rerate with another price prints the difference and posts it once', async () => {
    const usd = parseUsdPerMillion;
    const price = await app.database.transaction((tx) =>
      new PriceService().addPrice(tx, {
        model: 'sim-large',
        source: 'test',
        // Twice the price of everything these requests used.
        rates: priceRates({
          input: usd('6'),
          output: usd('30'),
          cacheRead: usd('0.60'),
          cacheWrite: usd('7.50'),
        }),
      }),
    );
    const [{ price_id: old } = { price_id: '' }] = await app.database.query<{ price_id: string }>(
      'SELECT DISTINCT price_id FROM request_record WHERE wallet_id = $1',
      [wallet],
    );
    const dryRun = await run('money:rerate', ...dateRange, '--price', `${old}=${price.id}`);
    expect(dryRun.output).toMatch(/3 records, 3 differ: \+0\.\d+ USD/);
    expect(await balance()).toBe(dollar - spent);

    const applyResult = await run('money:rerate', ...dateRange, '--price', `${old}=${price.id}`, '--apply');
    expect(applyResult.output).toContain('posted 3 corrections');
    const balanceAfter = await balance();
    // Each cost was rounded up once, so the doubled price is at most one nano-dollar lower per request.
    expect(dollar - balanceAfter - 2n * spent <= 0n && dollar - balanceAfter - 2n * spent >= -3n).toBe(true);

    expect(
      (await run('money:rerate', ...dateRange, '--price', `${old}=${price.id}`, '--apply')).output,
    ).toContain('posted 0 corrections');
    expect(await balance()).toBe(balanceAfter);
    expect((await run('money:verify')).code).toBe(0);
  });
});
