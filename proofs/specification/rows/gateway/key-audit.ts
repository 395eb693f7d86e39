import { expect } from '../../../operations/http';
import { openPoint, row, type SpecificationRow } from '../../row';
import type { SpecificationWorld } from '../../world';
import {
  at,
  chat,
  chatOf,
  field,
  headerOf,
  listAt,
  manage,
  numberAt,
  ok,
  okJson,
  recordOf,
  same,
} from './gateway-calls';

async function auditOf(world: SpecificationWorld) {
  const { id, client } = await world.keyWith();
  await world.caller();
  const answer = await ok(client.post(chat, { json: chatOf() }));
  await recordOf(client, answer);
  const list = listAt(await okJson(world.rootKey.get(`${manage}/${id}/audit`)), 'data');
  same(list.length, 1, 'records');
  return { id, answer, entry: list[0] };
}

const header = (answer: Parameters<typeof headerOf>[0], name: string) => headerOf(answer, `x-svc-${name}`);

export const auditRows: readonly SpecificationRow[] = [
  row('2.3', '`timestamp` is an ISO 8601 timestamp, that of the call', async (world) => {
    const before = Date.now();
    const { entry } = await auditOf(world);
    const time = Date.parse(String(field(entry, 'timestamp', 'time')));
    expect(time > before - 5_000 && time < Date.now() + 5_000, `timestamp ${time}`);
  }),
  row('2.3', '`key_id` is the id of the key', async (world) => {
    const { id, entry } = await auditOf(world);
    same(at(entry, 'key_id'), id, 'key_id');
  }),
  row('2.3', '`model` is the model', async (world) => {
    same(at((await auditOf(world)).entry, 'model'), 'spec-chat', 'model');
  }),
  row('2.3', '`supplier` and `region` are those that the answer names', async (world) => {
    const { answer, entry } = await auditOf(world);
    same([at(entry, 'supplier'), at(entry, 'region')], ['first', 'eu'], 'lane');
    same([header(answer, 'supplier'), header(answer, 'region')], ['first', 'eu'], 'lane of the answer');
  }),
  ...['input', 'output'].map((name) =>
    row('2.3', `\`${name}_tokens\` is a whole number, that of the answer`, async (world) => {
      const { answer, entry } = await auditOf(world);
      same(
        field(entry, `${name}_tokens`, 'integer'),
        Number(header(answer, `${name}-tokens`)),
        `${name}_tokens`,
      );
    }),
  ),
  row('2.3', '`cost_usd` is a number, that of the answer', async (world) => {
    const { answer, entry } = await auditOf(world);
    same(numberAt(entry, 'cost_usd'), Number(header(answer, 'cost-usd')), 'cost_usd');
  }),
  row('2.3', '`latency_ms` is a whole number, that of the answer', async (world) => {
    const { answer, entry } = await auditOf(world);
    same(field(entry, 'latency_ms', 'integer'), Number(header(answer, 'latency-ms')), 'latency_ms');
  }),
  row(
    '1.6',
    'audit records of a key are kept and can be read, with model, tokens, cost, region, supplier and latency',
    async (world) => {
      const { entry } = await auditOf(world);
      const names = 'model input_tokens output_tokens cost_usd region supplier latency_ms'.split(' ');
      for (const name of names) expect(at(entry, name) !== undefined, `no ${name}`);
    },
    { decided: openPoint('audit records are at GET /v1/manage/keys/{key_id}/audit') },
  ),
];
