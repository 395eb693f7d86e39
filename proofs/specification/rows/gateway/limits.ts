import { expect, expectStatus, jsonOf } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  sendRequest,
  at,
  chat,
  chatOf,
  field,
  headerOf,
  sendAndCapture,
  manage,
  ok,
  okJson,
  recordOf,
  expectRejected,
  same,
  textAt,
} from './gateway-calls';

/** The ends of a range are accepted and reach the supplier; values beyond are rejected and reach none. */
const within = (name: string, minimum: number, maximum: number) =>
  row(
    '8',
    `\`${name}\` of chat: ${minimum} and ${maximum} are taken, what is beyond is refused`,
    async (world) => {
      for (const value of [minimum, maximum]) {
        const { body } = await sendAndCapture(world, chat, (text) => chatOf(text, { [name]: value }));
        same(at(body, name), value, name);
      }
      for (const value of [minimum - 0.01, maximum + 0.01])
        await expectRejected(
          sendRequest(world, chat, chatOf('Hello', { [name]: value })),
          400,
          'invalid_request',
          name,
        );
    },
  );

async function proveSpending(world: SpecificationWorld, period: string): Promise<void> {
  await world.suppliers();
  const json = chatOf('Hello', { max_tokens: 300, messages: [{ role: 'user', content: '[[tokens=300]]' }] });
  const { id, client } = await world.keyWith({ budget_limit: 0.001, budget_period: period });
  const first = await ok(client.post(chat, { json }));
  await recordOf(client, first);
  let last = first;
  for (let calls = 0; calls < 10 && last.status === 200; calls += 1) last = await client.post(chat, { json });
  same(last.status, 402, 'status at the end');
  const { error } = jsonOf(last);
  same(at(error, 'code'), 'budget_exceeded', 'code');
  field(error, 'resets_at', 'time');
  const key = await okJson(world.rootKey.get(`${manage}/${id}`));
  const budgetUsed = Number(at(key, 'budget_used'));
  expect(budgetUsed > 0 && budgetUsed <= 0.001, `used ${budgetUsed}`);
}

const checkout = async (world: SpecificationWorld, amount: number) => {
  const { client } = await world.newPerson();
  const answer = await client.post('/api/billing/checkout', { json: { amount } });
  expectStatus(answer, 200);
  const session = textAt(jsonOf(answer), 'url').split('/').at(-1) ?? '';
  return Number(world.processor.account.sessions.get(session)?.['amount_total']);
};

export const limitRows: readonly SpecificationRow[] = [
  within('temperature', 0, 2),
  within('top_p', 0, 1),
  row(
    '8',
    'a key starts `rate_limit_rpm` requests a minute, set when it is made, and no more',
    async (world) => {
      await world.suppliers();
      const { client } = await world.keyWith({ rate_limit_rpm: 3 });
      const remainders = [];
      for (const _time of [1, 2, 3])
        remainders.push(
          headerOf(await ok(client.post(chat, { json: chatOf() })), 'x-ratelimit-remaining-requests'),
        );
      same(remainders, ['2', '1', '0'], 'what is left');
      await expectRejected(client.post(chat, { json: chatOf() }), 429, 'rate_limit_exceeded');
    },
  ),
  row('8', 'the rate of one key does not bind another', async (world) => {
    await world.suppliers();
    for (const _time of [1, 2]) {
      const { client } = await world.keyWith({ rate_limit_rpm: 1 });
      await ok(client.post(chat, { json: chatOf() }));
      await expectRejected(client.post(chat, { json: chatOf() }), 429, 'rate_limit_exceeded');
    }
  }),
  ...['daily', 'monthly', 'rolling'].map((period) =>
    row(
      '8',
      `a key spends no more than \`budget_limit\` in a ${period} period, then is refused with \`resets_at\``,
      (world) => proveSpending(world, period),
    ),
  ),
  row(
    '8',
    'a top-up is charged as its amount divided by 0.95, in cents, rounded up',
    async (world) => {
      for (const [amount, cents] of [
        [25, 2_632],
        [100, 10_527],
        [19, 2_000],
      ] as const)
        same(await checkout(world, amount), cents, `charge of ${amount}`);
    },
    { decided: openPoint('the charge of a top-up is rounded up to a cent') },
  ),
  row(
    '8',
    'the export of the audit log has the newest entries, as many as AUDIT_EXPORT_MAX_ROWS says',
    async (world) => {
      const { client } = await world.person('platform_admin');
      const maxRows = Number(world.gateway.node.environment['AUDIT_EXPORT_MAX_ROWS']);
      for (let exportedRows = 0; exportedRows <= maxRows; exportedRows += 1)
        expectStatus(await client.get('/dashboard/admin/audit/export'), 200);
      const answer = await client.get('/dashboard/admin/audit/export');
      const lines = answer.text.trim().split('\r\n').slice(1);
      same([lines.length, headerOf(answer, 'x-svc-export-capped-at')], [maxRows, `${maxRows}`], 'rows');
      const times = lines.map((line) => Date.parse(line.split(',')[0]?.replaceAll('"', '') ?? ''));
      expect(Math.max(...times) > Date.now() - 60_000, 'not the newest');
    },
  ),
  row(
    '8',
    'the page of token logs: `limit` is 100, `offset` 0 and `window_hours` 24 unless said',
    async (world) => {
      const { client } = await world.person('platform_admin');
      const answer = jsonOf(await client.get('/api/admin/token-logs'));
      same([at(answer, 'limit'), at(answer, 'offset'), at(answer, 'window_hours')], [100, 0, 24], 'defaults');
      const other = jsonOf(await client.get('/api/admin/token-logs?limit=5&offset=2&window_hours=48'));
      same([at(other, 'limit'), at(other, 'offset'), at(other, 'window_hours')], [5, 2, 48], 'as asked');
    },
  ),
];
