import { expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { PortalUser, World } from '../world';

async function createConversation(person: PortalUser, model = 'sim-small'): Promise<number> {
  const answer = await person.client.post('/api/conversations', { json: { model } });
  expectStatus(answer, 200);
  return Number(jsonOf(answer)['id']);
}

/** A conversation with messages, owned by a member of the own organisation. */
async function createTalk(world: World): Promise<{ person: PortalUser; id: number }> {
  const person = await world.person('user');
  const id = await createConversation(person);
  expectStatus(
    await person.client.post(`/api/chat/${id}`, { json: { content: 'Hi [[echo=said once]]' } }),
    200,
  );
  return { person, id };
}

const thread = (id: number): string => `/dashboard/webchat/${id}`;
const CONVERSATIONS = '/dashboard/admin/conversations';

/** A foreign conversation returns 404, and a request without a session is rejected. */
const rejectsOthers =
  (method: string, pathOf: (id: number) => string, json?: object) =>
  async (world: World): Promise<void> => {
    const { id } = await createTalk(world);
    const options = json === undefined ? {} : { json };
    expectStatus(await world.anonymous.send(method, pathOf(id), options), 401);
    const { client } = await world.stranger('org_owner');
    expectStatus(await client.send(method, pathOf(id), options), 404);
  };

const notForMembers =
  (method: string, pathOf: (id: number) => string) =>
  async (world: World): Promise<void> => {
    const { id, person } = await createTalk(world);
    expectStatus(await world.anonymous.send(method, pathOf(id)), 401);
    expectStatus(await person.client.send(method, pathOf(id)), 403, 'permission_denied');
  };

const pages: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/webchat',
    success: async (world) => {
      const { person, id } = await createTalk(world);
      const page = await person.client.get('/dashboard/webchat');
      expectStatus(page, 200);
      expect(page.text.includes(thread(id)), 'the conversation is listed');
      const foreign = await (await world.stranger('user')).client.get('/dashboard/webchat');
      expect(!foreign.text.includes(thread(id)), 'nobody else sees it');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('user')).client.get('/dashboard/webchat?list=none'),
        422,
        '["query","list"]',
      ),
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/dashboard/webchat'), 401),
  },
  {
    operation: 'GET /dashboard/webchat/{conv_id}',
    success: async (world) => {
      const { person, id } = await createTalk(world);
      const page = await person.client.get(thread(id));
      expectStatus(page, 200);
      expect(page.text.includes('said once'), 'the answer is in the thread');
    },
    badInput: async (world) =>
      expectStatus(await (await world.person('user')).client.get('/dashboard/webchat/none'), 422, 'conv_id'),
    withoutRights: rejectsOthers('GET', thread),
  },
];

const changes: readonly Scenario[] = [
  {
    operation: 'POST /api/webchat-key',
    success: async (world) => {
      const issued = jsonOf(await (await world.newPerson()).client.post('/api/webchat-key'));
      const client = world.anonymous.with({ authorization: `Bearer ${String(issued['key'])}` });
      const json = { model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] };
      expectStatus(await client.post('/v1/chat/completions', { json }), 200);
      expectStatus(await client.get('/v1/models'), 403, 'webchat_key_scope');
    },
    badInput: 'none',
    withoutRights: async (world) => expectStatus(await world.anonymous.post('/api/webchat-key'), 401),
  },
  {
    operation: 'POST /api/conversations',
    success: async (world) => {
      const person = await world.newPerson();
      const id = await createConversation(person, 'sim-large');
      expect((await person.client.get(thread(id))).text.includes('sim-large'), 'it has its model');
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(
        await client.post('/api/conversations', { json: { title: 'x'.repeat(500) } }),
        422,
        'validation_error',
      );
      expectStatus(
        await client.post('/api/conversations', { json: { model: 'none' } }),
        403,
        'model_not_accessible',
      );
    },
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.post('/api/conversations', { json: {} }), 401),
  },
  {
    operation: 'DELETE /api/conversations/{conv_id}',
    success: async (world) => {
      const { person, id } = await createTalk(world);
      expectStatus(await person.client.delete(`/api/conversations/${id}`), 200);
      expectStatus(await person.client.get(thread(id)), 404);
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('user')).client.delete('/api/conversations/none'),
        422,
        'conv_id',
      ),
    withoutRights: rejectsOthers('DELETE', (id) => `/api/conversations/${id}`),
  },
  {
    operation: 'POST /api/conversations/{conv_id}/model',
    success: async (world) => {
      const { person, id } = await createTalk(world);
      const json = { model: 'sim-large' };
      expectStatus(await person.client.post(`/api/conversations/${id}/model`, { json }), 200);
      const turn = await person.client.post(`/api/chat/${id}`, { json: { content: 'And now?' } });
      const { model } = jsonOf(turn)['message'] as { model: string };
      expect(model === 'sim-large', `the other model answers: ${model}`);
    },
    badInput: async (world) => {
      const { person, id } = await createTalk(world);
      const answer = await person.client.post(`/api/conversations/${id}/model`, { json: {} });
      expectStatus(answer, 422, 'validation_error');
    },
    withoutRights: rejectsOthers('POST', (id) => `/api/conversations/${id}/model`, { model: 'sim-large' }),
  },
  {
    operation: 'POST /api/chat/{conv_id}',
    success: async (world) => {
      const person = await world.newPerson();
      const id = await createConversation(person);
      const streamed = await person.client.post(`/api/chat/${id}`, {
        json: { content: 'Hi [[echo=in pieces]]', stream: true },
      });
      expectStatus(streamed, 200, 'event: end');
      const [kept] = await world.rows<{ request_id: string; cost_nano: string }>(
        `SELECT request_id, cost_nano::text FROM conversation_message
          WHERE conversation_id = $1 AND role = 'assistant'`,
        [id],
      );
      expect(BigInt(kept?.cost_nano ?? 0) > 0n, 'the answer has a cost');
    },
    badInput: async (world) => {
      const person = await world.person('user');
      const answer = await person.client.post(`/api/chat/${await createConversation(person)}`, {
        json: { content: ' ' },
      });
      expectStatus(answer, 422, '["body","content"]');
    },
    withoutRights: rejectsOthers('POST', (id) => `/api/chat/${id}`, { content: 'Hello' }),
  },
];

const administration: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/admin/conversations',
    success: async (world) => {
      const { id } = await createTalk(world);
      const page = await (await world.person('org_admin')).client.get(CONVERSATIONS);
      expectStatus(page, 200);
      expect(page.text.includes(`${CONVERSATIONS}/${id}"`), 'the conversation is listed');
      expect(!page.text.includes('said once'), 'without what was said');
      const foreign = await (await world.stranger('org_admin')).client.get(CONVERSATIONS);
      expect(!foreign.text.includes(`${CONVERSATIONS}/${id}"`), 'another organisation does not see it');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get(`${CONVERSATIONS}?cursor=none`),
        422,
        '["query","cursor"]',
      ),
    withoutRights: notForMembers('GET', () => CONVERSATIONS),
  },
  {
    operation: 'GET /dashboard/admin/conversations/{conv_id}',
    success: async (world) => {
      const { id } = await createTalk(world);
      const { client } = await world.person('org_admin');
      const page = await client.get(`${CONVERSATIONS}/${id}`);
      expectStatus(page, 200);
      expect(!page.text.includes('said once'), 'without what was said');
      const content = await client.post(`${CONVERSATIONS}/${id}/content`, { json: { reason: 'a proof' } });
      expectStatus(content, 200, 'said once');
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.get(`${CONVERSATIONS}/none`),
        422,
        'conv_id',
      ),
    withoutRights: notForMembers('GET', (id) => `${CONVERSATIONS}/${id}`),
  },
  {
    operation: 'DELETE /api/admin/conversations/{conv_id}',
    success: async (world) => {
      const { id, person } = await createTalk(world);
      const { client } = await world.person('org_admin');
      expectStatus(await client.delete(`/api/admin/conversations/${id}`), 200);
      expectStatus(await person.client.get(thread(id)), 404);
    },
    badInput: async (world) =>
      expectStatus(
        await (await world.person('org_admin')).client.delete('/api/admin/conversations/none'),
        422,
        'conv_id',
      ),
    withoutRights: notForMembers('DELETE', (id) => `/api/admin/conversations/${id}`),
  },
];

export const chatScenarios: readonly Scenario[] = [...pages, ...changes, ...administration];
