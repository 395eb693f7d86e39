import { expect, expectStatus, jsonOf, eventually } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const settings = '/dashboard/qualitative/settings';
const detail = '/dashboard/qualitative/detail';
const file = '/dashboard/qualitative/export';
const SAMPLING_SETTINGS = {
  availability: 'everyone',
  sampling_percent: 100,
  sample_named: true,
  content_retention_days: 0,
};

/** Creates an evaluated request of a new user, then turns sampling off. */
async function createEvaluatedRequest(world: World) {
  const owner = await world.person('org_owner');
  expectStatus(await owner.client.post(settings, { json: SAMPLING_SETTINGS }), 200);
  const person = await world.person('user');
  const key = await world.newKey(person, 'judged');
  const json = {
    model: 'sim-small',
    max_tokens: 30,
    messages: [{ role: 'user', content: 'Solve the equation x + 1 = 2.' }],
  };
  const answer = await key.client.post('/v1/chat/completions', { json });
  expectStatus(answer, 200);
  const requestId = answer.headers.get('x-request-id') ?? '';
  await eventually(async () => {
    const [row] = await world.rows<{ state: string }>(
      'SELECT state FROM quality_sample WHERE request_id = $1',
      [requestId],
    );
    return row?.state === 'learned';
  }, 'the answer is judged and learned');
  return { person, requestId };
}

const turnSamplingOff = async (world: World): Promise<void> => {
  const owner = await world.person('org_owner');
  expectStatus(
    await owner.client.post(settings, { json: { availability: 'off', sampling_percent: 0 } }),
    200,
  );
};

export const qualityScenarios: readonly Scenario[] = [
  {
    operation: 'GET /dashboard/qualitative/detail/{request_id}',
    success: async (world) => {
      const { person, requestId } = await createEvaluatedRequest(world);
      const answer = await person.client.get(`${detail}/${requestId}`);
      expectStatus(answer, 200);
      const { row, pair, content, reason } = jsonOf(answer);
      expect(Number((row as { score_total: number }).score_total) > 0, 'the answer has a score');
      expect((pair as unknown[]).length > 0, 'other models answered too');
      expect(content === null && reason === 'retention_off', 'no text is kept');
      const stranger = await world.stranger('org_owner');
      expectStatus(await stranger.client.get(`${detail}/${requestId}`), 404);
      await turnSamplingOff(world);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get(`${detail}/no-such-request`), 404, 'request_id');
    },
    withoutRights: async (world) => expectStatus(await world.anonymous.get(`${detail}/x`), 401),
  },
  {
    operation: 'GET /dashboard/qualitative/export',
    success: async (world) => {
      const { person, requestId } = await createEvaluatedRequest(world);
      const answer = await person.client.get(file);
      expectStatus(answer, 200);
      expect(answer.text.startsWith('request_id,created_at,'), 'the file names its columns');
      expect(answer.text.includes(requestId), 'the scored request is in it');
      expect(!answer.text.includes('Solve the equation'), 'no text is in it');
      await turnSamplingOff(world);
    },
    badInput: async (world) => {
      const { client } = await world.person('user');
      expectStatus(await client.get(`${file}?days=8`), 422, 'days');
    },
    withoutRights: async (world) => expectStatus(await world.anonymous.get(file), 401),
  },
];
