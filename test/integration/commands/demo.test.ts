import { rerate, summariseRerate, ensureSandbox } from '#product/catalogue';
import { Limits, verifyMoney } from '#product/billing';
import { judgeVersion } from '#product/quality';
import { CommandHouse } from './command-house';

const COUNTED = [
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
  let house: CommandHouse;
  beforeAll(async () => {
    house = await CommandHouse.open();
  });
  afterAll(() => house.close());

  const counts = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      await Promise.all(
        COUNTED.map(async (table) => {
          const [row] = await house.database.query<{ count: string }>(`SELECT count(*) FROM ${table}`);
          return [table, Number(row?.count)] as const;
        }),
      ),
    );

  test('before the first start it changes nothing, so that the owner is still made', async () => {
    const before = await counts();
    expect(await house.run(['demo:seed'])).toMatchObject({
      code: 1,
      complaint: expect.stringContaining('start the service once') as string,
    });
    expect(await counts()).toEqual(before);
  });

  test('fills an installation with traffic whose bills add up, once, and takes it away again', async () => {
    await house.database.transaction((tx) => ensureSandbox(tx, 'http://127.0.0.1:9'));
    const before = await counts();
    const seeded = await house.run(['demo:seed', '--days', '40', '--requests', '2500']);
    expect(seeded).toMatchObject({
      code: 0,
      output: expect.stringContaining('demo-harbour-analytics') as string,
    });
    expect(seeded.output.match(/\/sign-in-link\?token=[\w-]{43}$/gm)).toHaveLength(2);
    const filled = await counts();
    expect(filled).toMatchObject({
      organisation: 1,
      user_account: 8,
      api_key: 7,
      project: 3,
      // Beside the traffic, requests for auto that were judged: each answered by four models.
      request_record: 2500 + 420,
      quality_sample: 420,
      quality_score: 4 * 420,
      autorouter_example: 420,
    });

    const [judged] = await house.database.query<{ simulated: boolean; chosen: number; judges: string[] }>(
      `SELECT bool_and(s.is_simulated) AS simulated, count(DISTINCT q.served_model)::integer AS chosen,
              array_agg(DISTINCT s.judge_version) AS judges
         FROM quality_score s JOIN quality_sample q USING (request_id)`,
    );
    expect(judged?.simulated).toBe(true);
    expect(judged?.chosen).toBeGreaterThan(1);
    // The judge that the sandbox uses by itself: its later scores join these.
    expect(judged?.judges).toEqual([judgeVersion('sim-large', ['sim-large'])]);

    const [kinds] = await house.database.query<{
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
    const span = { from: new Date(Date.now() - 41 * 86_400_000), to: new Date(), priceOverride: new Map() };
    const bill = await summariseRerate(rerate(house.database, span));
    expect(bill).toMatchObject({ records: expect.any(Number) as number, differences: 0 });
    expect((await verifyMoney(house.database)).addsUp).toBe(true);

    const keys = await house.database.query<{ id: number; name: string }>('SELECT id, name FROM api_key');
    const stateOf = async (name: string) => {
      const id = keys.find((key) => key.name === name)?.id ?? 0;
      return new Limits(house.database).state({ kind: 'key', id });
    };
    const nearItsEnd = await stateOf('forecast-api');
    expect(Number(nearItsEnd?.spent) / Number(nearItsEnd?.limit)).toBeGreaterThan(0.85);
    expect(nearItsEnd?.remaining).toBeGreaterThan(0n);
    const raised = await stateOf('help-desk');
    expect(raised?.raised).toBeGreaterThan(0n);
    expect(raised?.remaining).toBeGreaterThan(0n);

    expect((await house.run(['demo:seed'])).output).toContain('there already');
    expect(await counts()).toEqual(filled);

    expect(await house.run(['demo:seed', '--remove'])).toMatchObject({ code: 0 });
    expect(await counts()).toEqual(before);
    expect((await verifyMoney(house.database)).addsUp).toBe(true);
    expect((await house.run(['demo:seed', '--remove'])).output).toContain('no demonstration');
  });

  test('is refused in production, and asks for sizes it can make', async () => {
    expect((await house.run(['demo:seed', '--days', '366'])).complaint).toContain('1 to 365');
    house.environment['NODE_ENV'] = 'production';
    house.environment['BASE_URL'] = 'https://gateway.example.com';
    for (const secret of ['SESSION_SECRET', 'KEY_PEPPER', 'MASTER_KEY'])
      house.environment[secret] = Buffer.alloc(32, secret).toString('base64');
    const refused = await house.run(['demo:seed']);
    expect(refused).toMatchObject({ code: 1, complaint: expect.stringContaining('production') as string });
    expect((await counts())['organisation']).toBe(0);
  });
});
