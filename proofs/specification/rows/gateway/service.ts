import { expect, expectStatus, jsonOf } from '../../../operations/http';
import { row, type Row, unseen } from '../../row';

const ask = (model: string) => ({ json: { model, messages: [{ role: 'user', content: 'Hello' }] } });

export const serviceRows: readonly Row[] = [
  row('4.1', '`GET /health` needs no key and answers 200 with `status` `ok`', async (world) => {
    const answer = await world.anonymous.get('/health');
    expectStatus(answer, 200);
    expect(jsonOf(answer)['status'] === 'ok', `status: ${answer.text}`);
  }),
  row('1.3', 'another supplier answers when the first fails', async (world) => {
    const { name, upstream } = await world.newModel({ lanes: [{ at: 'first' }, { at: 'second' }] });
    await (await world.suppliers()).fault('first', upstream[0] ?? '', { kind: 'status', status: 500 });
    const answer = await (await world.keyWith()).client.post('/v1/chat/completions', ask(name));
    expectStatus(answer, 200);
    expect(answer.headers.get('x-svc-supplier') === 'second', 'not by the second');
  }),
  unseen('1.8', 'pages are static', 'how a page is made is not told to its reader'),
];
