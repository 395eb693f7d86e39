import { type Client, expect, expectStatus } from '../../../operations/http';
import { row, type SpecificationRow } from '../../row';
import {
  type Json,
  callTo,
  clientOf,
  equal,
  uniqueName,
  expectRedirect,
  okHtml,
  okJson,
  expectRejected,
  refusesAnonymous,
  waitUntilServed,
} from './row-helpers';

async function createConversation(client: Client, more: Json = {}): Promise<number> {
  const creation = okJson(await client.post('/api/conversations', { json: { model: 'sim-small', ...more } }));
  return Number(creation['id']);
}

export const webchatRows: readonly SpecificationRow[] = [
  row('4.10', '`GET /dashboard/webchat/{conv_id}` is the page of one conversation', async (world) => {
    const { client } = await world.newPerson();
    const id = await createConversation(client, { title: 'The one' });
    okJson(await client.post(`/api/chat/${id}`, { json: { content: 'Hi [[echo=of this thread]]' } }));
    okHtml(await client.get(`/dashboard/webchat/${id}`), 'of this thread');
    const other = await createConversation(client);
    const page = okHtml(await client.get(`/dashboard/webchat/${other}`));
    expect(!page.includes('of this thread'), 'another conversation has its own page');
  }),
  row('9.5', '`GET /dashboard/playground` leads to the page of the webchat', async (world) =>
    expectRedirect(await (await clientOf(world, 'user')).get('/dashboard/playground'), '/dashboard/webchat'),
  ),
  row(
    '9.5',
    '`GET /dashboard/playground/{conv_id}` leads to the page of this conversation',
    async (world) => {
      const client = await clientOf(world, 'user');
      const id = await createConversation(client);
      expectRedirect(await client.get(`/dashboard/playground/${id}`), `/dashboard/webchat/${id}`);
    },
  ),
  row('4.10', '`POST /api/webchat-key` creates a key of the person for the webchat alone', async (world) => {
    const { client, userId } = await world.newPerson();
    const creation = okJson(await client.post('/api/webchat-key'));
    const key = world.anonymous.with({ authorization: `Bearer ${String(creation['key'])}` });
    await waitUntilServed(key, 'sim-small');
    const json = { model: 'sim-embed', input: 'x' };
    expectRejected(await key.post('/v1/embeddings', { json }), 403, 'webchat_key_scope');
    const ownedKeys = await world.rows('SELECT 1 FROM api_key WHERE id = $1 AND user_id = $2', [
      creation['id'],
      userId,
    ]);
    equal(ownedKeys.length, 1, 'it is of the person');
    await refusesAnonymous(world, callTo('POST', '/api/webchat-key'));
  }),
  row('4.10', '`POST /api/conversations` creates a conversation', async (world) => {
    const { client } = await world.newPerson();
    const title = uniqueName('title');
    const id = await createConversation(client, { title });
    okHtml(await client.get('/dashboard/webchat'), `/dashboard/webchat/${id}`, title);
  }),
  row('4.10', '`DELETE /api/conversations/{conv_id}` deletes a conversation', async (world) => {
    const { client } = await world.newPerson();
    const id = await createConversation(client);
    okHtml(await client.get(`/dashboard/webchat/${id}`));
    okJson(await client.delete(`/api/conversations/${id}`));
    expectRejected(await client.get(`/dashboard/webchat/${id}`), 404, 'not_found');
  }),
  row(
    '4.10',
    '`POST /api/conversations/{conv_id}/model` changes the model of a conversation',
    async (world) => {
      const { client } = await world.newPerson();
      const id = await createConversation(client);
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
      const id = await createConversation(client);
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
