import { type Client, expect, expectStatus } from '../../../operations/http';
import { row, type Row } from '../../row';
import {
  type Json,
  asking,
  clientOf,
  equal,
  fresh,
  leadsTo,
  okHtml,
  okJson,
  refuses,
  refusesAnonymous,
  served,
} from './steps';

async function begun(client: Client, more: Json = {}): Promise<number> {
  const made = okJson(await client.post('/api/conversations', { json: { model: 'sim-small', ...more } }));
  return Number(made['id']);
}

export const webchatRows: readonly Row[] = [
  row('4.10', '`GET /dashboard/webchat/{conv_id}` is the page of one conversation', async (world) => {
    const { client } = await world.newPerson();
    const id = await begun(client, { title: 'The one' });
    okJson(await client.post(`/api/chat/${id}`, { json: { content: 'Hi [[echo=of this thread]]' } }));
    okHtml(await client.get(`/dashboard/webchat/${id}`), 'of this thread');
    const other = await begun(client);
    const page = okHtml(await client.get(`/dashboard/webchat/${other}`));
    expect(!page.includes('of this thread'), 'another conversation has its own page');
  }),
  row('9.5', '`GET /dashboard/playground` leads to the page of the webchat', async (world) =>
    leadsTo(await (await clientOf(world, 'user')).get('/dashboard/playground'), '/dashboard/webchat'),
  ),
  row(
    '9.5',
    '`GET /dashboard/playground/{conv_id}` leads to the page of this conversation',
    async (world) => {
      const client = await clientOf(world, 'user');
      const id = await begun(client);
      leadsTo(await client.get(`/dashboard/playground/${id}`), `/dashboard/webchat/${id}`);
    },
  ),
  row('4.10', '`POST /api/webchat-key` creates a key of the person for the webchat alone', async (world) => {
    const { client, userId } = await world.newPerson();
    const made = okJson(await client.post('/api/webchat-key'));
    const key = world.anonymous.with({ authorization: `Bearer ${String(made['key'])}` });
    await served(key, 'sim-small');
    const json = { model: 'sim-embed', input: 'x' };
    refuses(await key.post('/v1/embeddings', { json }), 403, 'webchat_key_scope');
    const owned = await world.rows('SELECT 1 FROM api_key WHERE id = $1 AND user_id = $2', [
      made['id'],
      userId,
    ]);
    equal(owned.length, 1, 'it is of the person');
    await refusesAnonymous(world, asking('POST', '/api/webchat-key'));
  }),
  row('4.10', '`POST /api/conversations` creates a conversation', async (world) => {
    const { client } = await world.newPerson();
    const title = fresh('title');
    const id = await begun(client, { title });
    okHtml(await client.get('/dashboard/webchat'), `/dashboard/webchat/${id}`, title);
  }),
  row('4.10', '`DELETE /api/conversations/{conv_id}` deletes a conversation', async (world) => {
    const { client } = await world.newPerson();
    const id = await begun(client);
    okHtml(await client.get(`/dashboard/webchat/${id}`));
    okJson(await client.delete(`/api/conversations/${id}`));
    refuses(await client.get(`/dashboard/webchat/${id}`), 404, 'not_found');
  }),
  row(
    '4.10',
    '`POST /api/conversations/{conv_id}/model` changes the model of a conversation',
    async (world) => {
      const { client } = await world.newPerson();
      const id = await begun(client);
      okJson(await client.post(`/api/conversations/${id}/model`, { json: { model: 'sim-large' } }));
      const turn = okJson(await client.post(`/api/chat/${id}`, { json: { content: 'And now?' } }));
      equal((turn['message'] as Json)['model'], 'sim-large', 'who answers');
    },
  ),
  row(
    '4.10',
    '`POST /api/chat/{conv_id}` sends a turn in a conversation and brings the answer',
    async (world) => {
      const { client } = await world.newPerson();
      const id = await begun(client);
      const turn = okJson(
        await client.post(`/api/chat/${id}`, { json: { content: 'Hi [[echo=answered]]' } }),
      );
      expect(JSON.stringify(turn['message']).includes('answered'), `the answer: ${JSON.stringify(turn)}`);
      const streamed = await client.post(`/api/chat/${id}`, {
        json: { content: 'Hi [[echo=in pieces]]', stream: true },
      });
      expectStatus(streamed, 200, 'event: end');
    },
  ),
];
