import fc from 'fast-check';
import { insertRequestRecords, serialiseRecord } from '#product/audit';
import { uuidv7 } from '#product/kernel';
import { ordinaryOutcome } from '../../../proofs/money/record';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { addKey, signIn } from '../../support/users';
import { sendRaw } from '../web/raw-exchange';

interface ModelUsageData {
  readonly total: { readonly requests: number; readonly cost_usd: number };
  readonly groups: readonly {
    readonly group: string | null;
    readonly requests: number;
    readonly cost_usd: number;
  }[];
}

const COUNT = 300;
const DAYS = 10;
const HOUR_MS = 3_600_000;
const models = ['small', 'large', 'auto', 'quick'];

let app: TestApp;
let cookie: string;
let keys: number[];

beforeAll(async () => {
  app = await startTestApp();
  const { userId, keyId } = await addCustomer(app, 'ada');
  cookie = await signIn(app, userId);
  keys = [keyId, (await addKey(app, userId)).id];
  const owner = { organisationId: null, departmentId: null, projectId: null, walletId: null, userId };
  const now = Date.now();
  const records = Array.from({ length: COUNT }, (_, index) => {
    const servedModel = index % 17 === 0 ? null : index % 3 === 0 ? 'large' : 'small';
    return serialiseRecord(
      uuidv7(),
      now - HOUR_MS - Math.floor((index * (DAYS - 1) * 24 * HOUR_MS) / COUNT),
      {
        ...ordinaryOutcome({ ...owner, keyId: keys[index % 2]!, costNano: BigInt(1_000 + index) }),
        // An alias, auto, the model itself, and a model that answered in place of a larger one.
        model: ['quick', 'auto', 'small', 'large'][index % 4]!,
        servedModel,
        supplier: index % 5 === 0 ? 'south' : 'north',
        region: index % 7 === 0 ? 'us' : 'eu',
        endUser: index % 6 === 0 ? 'grace' : null,
        tags: index % 4 === 1 ? ['night', 'batch'] : null,
        ...(servedModel === null ? { status: 503, code: 'no_providers_available' } : {}),
      },
    );
  });
  await app.database.query("SELECT ensure_request_record_partitions((now() - interval '2 months')::date, 4)");
  await app.database.transaction(async (tx) => void (await insertRequestRecords(tx, records)));
});
afterAll(() => app.close());

const getPage = (path: string, filter: Record<string, string>) =>
  sendRaw(app.url, {
    path: `${path}?${String(new URLSearchParams({ days: String(DAYS), ...filter }))}`,
    headers: { cookie, accept: 'text/html' },
  });
const usage = async (filter: Record<string, string>): Promise<ModelUsageData> =>
  JSON.parse((await getPage('/dashboard/api/usage', filter)).body) as ModelUsageData;

/** Returns requests and cost summed over the lines of an export. */
async function sumOfExport(filter: Record<string, string>): Promise<UsageSum> {
  const [head = '', ...lines] = (await getPage('/dashboard/request-log/export', filter)).body
    .trimEnd()
    .split('\r\n');
  const column = head.split(',').indexOf('cost');
  return sumOf(lines.map((line) => ({ requests: 1, cost_usd: Number(line.split(',')[column]) })));
}

interface UsageSum {
  readonly requests: number;
  readonly cost_usd: number;
}
const NANO = 1e9;
const sumOf = (parts: readonly UsageSum[]): UsageSum => ({
  requests: parts.reduce((sum, { requests }) => sum + requests, 0),
  cost_usd: parts.reduce((sum, { cost_usd: cost }) => sum + Math.round(cost * NANO), 0) / NANO,
});

const optional = (name: string, ...values: string[]) =>
  fc.constantFrom<Record<string, string>>({}, ...values.map((value) => ({ [name]: value })));

test('usage of one model has the same sum by filter, by group and in the CSV, under any other filter', async () => {
  const filters = fc
    .tuple(
      optional('supplier', 'north', 'south'),
      optional('region', 'eu', 'us'),
      optional('key', '0', '1'),
      optional('end_user', 'grace'),
      optional('tag', 'night'),
    )
    .map((parts): Record<string, string> => Object.assign({}, ...parts) as Record<string, string>);
  await fc.assert(
    fc.asyncProperty(filters, async ({ key, ...plain }) => {
      const filter = key === undefined ? plain : { ...plain, key: String(keys[Number(key)]) };
      const { total, groups } = await usage({ ...filter, group_by: 'model' });
      expect(sumOf(groups)).toMatchObject(sumOf([total]));
      expect(await sumOfExport(filter)).toEqual(sumOf([total]));
      for (const model of models) {
        const group = sumOf(groups.filter((one) => one.group === model));
        expect([model, sumOf([(await usage({ ...filter, model })).total])]).toEqual([model, group]);
        expect([model, await sumOfExport({ ...filter, model })]).toEqual([model, group]);
      }
    }),
    { numRuns: 40 },
  );
});

test('the requested model is a separate column and filter, also for requests without a lane', async () => {
  const { requests } = await sumOfExport({ requested_model: 'quick' });
  expect(requests).toBe(COUNT / 4);
  const { body } = await getPage('/dashboard/request-log/export', { requested_model: 'quick' });
  const head = body.split('\r\n')[0]!.split(',');
  expect(head).toEqual(expect.arrayContaining(['model', 'served_model']));
  expect((await usage({ model: 'quick' })).total.requests).toBe(0);
});
