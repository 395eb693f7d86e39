import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { expect, expectStatus, jsonOf } from '../operations/http';
import type { World } from '../operations/world';
import type { ProofGateway } from '../../test/system/gateway';
import type { ThreatRow } from './rows';

const CHAT_PATH = '/v1/chat/completions';

const statusAt = (url: string, host: string, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const clientRequest = request(new URL(path, url), {
      headers: { host, accept: 'text/html' },
      timeout: 20_000,
    });
    clientRequest.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    clientRequest.on('error', reject).end();
  });

const productionSettings = {
  SESSION_SECRET: 'k3Jx9vQm2Lr8Tz5Wn7Yb4Hc6Pd1Sg0Fa',
  MASTER_KEY: '1:q0v7m1Z3p5s8u2w4y6A9C1E3G5I7K9M1O3Q5S7U9W0Y=',
};

/** Proves the mails of a public installation whose operator forgot NODE_ENV and SMTP_URL. */
export async function proveOutbox(gateway: ProofGateway): Promise<string> {
  const cases: { readonly host: string; readonly more: Record<string, string> }[] = [
    { host: 'portal.example', more: { BASE_URL: 'https://portal.example', ...productionSettings } },
    { host: 'localhost:3000', more: { BASE_URL: 'http://localhost:3000', HOST: '0.0.0.0' } },
  ];
  for (const [place, { host, more }] of cases.entries()) {
    const node = await gateway.another(`outbox-${place}`, { NODE_ENV: 'development', ...more });
    const url = `http://127.0.0.1:${new URL(node.url).port}`;
    for (const path of ['/dev/outbox', '/dev/components']) {
      const status = await statusAt(url, host, path);
      expect(status === 404, `${path} of ${host} answers ${status}`);
    }
    expect((await statusAt(url, host, '/login')) === 200, 'the portal itself is served');
    await node.stop();
  }
  return `${cases.length} installations show none`;
}

async function requestOf(world: World, client: World['key']): Promise<string> {
  const answer = await client.post(CHAT_PATH, {
    json: { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] },
  });
  expectStatus(answer, 200);
  const id = answer.headers.get('x-request-id') ?? '';
  for (let waited = 0; waited < 100; waited += 1) {
    if ((await world.rows('SELECT 1 FROM request_record WHERE request_id = $1', [id])).length > 0) return id;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the request is not on record');
}

export const accountRows: readonly ThreatRow[] = [
  {
    row: '61 after a move the new organisation reads and deletes nothing of before',
    prove: async (world) => {
      const person = await world.newPerson({ organisationId: world.organisationId });
      const admin = await world.newPerson({
        role: 'org_admin',
        organisationId: world.otherOrganisationId,
      });
      expectStatus(
        await admin.client.post('/dashboard/toggle-admin-mode', { json: { admin_mode: 'on' } }),
        200,
      );
      const conversationResponse = await person.client.post('/api/conversations', {
        json: { model: 'sim-small' },
      });
      const id = String(jsonOf(conversationResponse)['id']);
      expectStatus(await person.client.post(`/api/chat/${id}`, { json: { content: 'hello' } }), 200);
      const key = await world.newKey(person);
      const requestId = await requestOf(world, key.client);
      await world.rows('UPDATE user_account SET organisation_id = $2 WHERE id = $1', [
        person.userId,
        world.otherOrganisationId,
      ]);
      const page = `/dashboard/admin/conversations/${id}`;
      expectStatus(await admin.client.get(page), 404);
      expectStatus(await admin.client.post(`${page}/content`, { json: { reason: 'curiosity' } }), 404);
      expectStatus(await admin.client.delete(`/api/admin/conversations/${id}`), 404);
      for (const path of [`/dashboard/keys/${key.id}`, '/dashboard/request-log', '/dashboard/activity']) {
        const { text } = await admin.client.get(path, { headers: { accept: 'text/html' } });
        expect(!text.includes(requestId), `${path} shows a request of before`);
      }
      expectStatus(await person.client.post(`/api/chat/${id}`, { json: { content: 'again' } }), 409);
      return 'absent, and not continued';
    },
  },
  {
    row: '62 administrators of an organisation give no more credit than the platform allows',
    prove: async (world) => {
      const admin = await world.newPerson({ role: 'org_admin', organisationId: world.otherOrganisationId });
      const person = await world.newPerson({ organisationId: world.otherOrganisationId });
      const path = `/dashboard/admin/users/${person.userId}/credit-limit`;
      const rejection = await admin.client.post(path, { json: { credit_limit: '100000' } });
      expectStatus(rejection, 403, 'permission_denied');
      expect(rejection.text.includes('$'), 'the ceiling is named');
      return 'refused, with the ceiling';
    },
  },
  {
    row: '63 no spelling of an address has guesses of its own',
    prove: async (world) => {
      const { email } = await world.newPerson({ email: `iris-${randomUUID()}@example.com` });
      const before = await world.rows('SELECT 1 FROM attempt_throttle');
      const spellings = [
        email,
        email.toUpperCase(),
        email.replace('e', '\uff45'),
        email.replace('i', '\u0130'),
      ];
      for (const spelledEmail of [
        ...spellings,
        ...spellings.map((spelling) => spelling.replaceAll('i', '\u0131')),
      ])
        await world.anonymous.post('/auth/login', {
          json: { email: spelledEmail, password: 'not it at all' },
        });
      const newThrottles = (await world.rows('SELECT 1 FROM attempt_throttle')).length - before.length;
      expect(newThrottles <= 2, `${newThrottles} counters for one address at one place`);
      return `${newThrottles} counters`;
    },
  },
];
