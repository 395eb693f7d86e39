import { rerate, summariseRerate, ensureSandbox } from '#product/catalogue';
import { Limits, verifyMoney } from '#product/billing';
import { judgeVersion } from '#product/quality';
import { CommandFixture } from './command-fixture';

const COUNTED_TABLES = [
  'organisation',
  'user_account',
  'api_key',
  'project',
  'request_record',
  'usage_hour',
  'spending_rule',
  'spending_window',
  'budget_raise',
  'quality_sample',
  'quality_score',
  'evaluation_call',
  'autorouter_example',
  'engine_setting',
];

describe('demo:seed', () => {
  let fixture: CommandFixture;
  beforeAll(async () => {
    fixture = await CommandFixture.open();
  });
  afterAll(() => fixture.close());

  const countRows = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      await Promise.all(
        COUNTED_TABLES.map(async (table) => {
          const [row] = await fixture.database.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
          return [table, Number(row?.count)] as const;
        }),
      ),
    );

  test('changes nothing before the first start, so that the owner is still created', async () => {
    const rowsBefore = await countRows();
    expect(await fixture.run(['demo:seed'])).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('start the service once') as string,
    });
    expect(await countRows()).toEqual(rowsBefore);
  });

  test('fills an installation once with consistent billing, and removes it again', async () => {
    await fixture.database.transaction((tx) => ensureSandbox(tx, 'http://127.0.0.1:9'));
    const rowsBefore = await countRows();
    const seedResult = await fixture.run(['demo:seed', '--days', '40', '--requests', '2500']);
    expect(seedResult).toMatchObject({
      code: 0,
      output: expect.stringContaining('demo-harbour-analytics') as string,
    });
    expect(seedResult.output.match(/\/sign-in-link\?token=[\w-]{43}$/gm)).toHaveLength(2);
    const rowsAfter = await countRows();
    expect(rowsAfter).toMatchObject({
      organisation: 1,
      user_account: 8,
      api_key: 7,
      project: 3,
      // In addition to the traffic: evaluated requests for auto, each answered by four models.
      request_record: 2500 + 420,
      quality_sample: 420,
      quality_score: 4 * 420,
      autorouter_example: 420,
    });

    const [judged] = await fixture.database.query<{ simulated: boolean; chosen: number; judges: string[] }>(
      `SELECT bool_and(s.is_simulated) AS simulated, count(DISTINCT q.served_model)::integer AS chosen,
              array_agg(DISTINCT s.judge_version) AS judges
         FROM quality_score s JOIN quality_sample q USING (request_id)`,
    );
    expect(judged?.simulated).toBe(true);
    expect(judged?.chosen).toBeGreaterThan(1);
    // The default judge of the sandbox, so that later scores are comparable.
    expect(judged?.judges).toEqual([judgeVersion('sim-large', ['sim-large'])]);

    const [kinds] = await fixture.database.query<{
      days: string;
      refused: string;
      moved: string;
      wallets: string;
    }>(
      `SELECT count(DISTINCT date_trunc('day', created_at)) AS days, count(code) AS refused,
              count(*) FILTER (WHERE failover) AS moved, count(wallet_id) AS wallets FROM request_record`,
    );
    expect(Number(kinds?.days)).toBeGreaterThan(30);
    expect(Number(kinds?.refused)).toBeGreaterThan(0);
    expect(Number(kinds?.moved)).toBeGreaterThan(0);
    expect(Number(kinds?.wallets)).toBe(0);
    const timeRange = {
      from: new Date(Date.now() - 41 * 86_400_000),
      to: new Date(),
      priceOverride: new Map(),
    };
    const bill = await summariseRerate(rerate(fixture.database, timeRange));
    expect(bill).toMatchObject({ records: expect.any(Number) as number, differences: 0 });
    expect((await verifyMoney(fixture.database)).addsUp).toBe(true);

    const keys = await fixture.database.query<{ id: number; name: string }>('SELECT id, name FROM api_key');
    const stateOf = async (name: string) => {
      const id = keys.find((key) => key.name === name)?.id ?? 0;
      return new Limits(fixture.database).state({ kind: 'key', id });
    };
    const nearlyUsedUp = await stateOf('forecast-api');
    expect(Number(nearlyUsedUp?.spent) / Number(nearlyUsedUp?.limit)).toBeGreaterThan(0.85);
    expect(nearlyUsedUp?.remaining).toBeGreaterThan(0n);
    const raised = await stateOf('help-desk');
    expect(raised?.raised).toBeGreaterThan(0n);
    expect(raised?.remaining).toBeGreaterThan(0n);

    expect((await fixture.run(['demo:seed'])).output).toContain('there already');
    expect(await countRows()).toEqual(rowsAfter);

    expect(await fixture.run(['demo:seed', '--remove'])).toMatchObject({ code: 0 });
    expect(await countRows()).toEqual(rowsBefore);
    expect((await verifyMoney(fixture.database)).addsUp).toBe(true);
    expect((await fixture.run(['demo:seed', '--remove'])).output).toContain('no demonstration');
  });

  test('is refused in production and for an invalid number of days', async () => {
    expect((await fixture.run(['demo:seed', '--days', '366'])).complaint).toContain('1 to 365');
    fixture.environment['NODE_ENV'] = 'production';
    fixture.environment['BASE_URL'] = 'https://gateway.example.com';
    for (const secret of ['SESSION_SECRET', 'KEY_PEPPER', 'MASTER_KEY'])
      fixture.environment[secret] = Buffer.alloc(32, secret).toString('base64');
    const refusal = await fixture.run(['demo:seed']);
    expect(refusal).toMatchObject({ code: 1, complaint: expect.stringContaining('production') as string });
    expect((await countRows())['organisation']).toBe(0);
  });
});
