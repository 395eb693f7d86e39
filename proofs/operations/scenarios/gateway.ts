import { type Client, expect, expectStatus, jsonOf } from '../http';
import type { Scenario } from '../scenario';
import type { World } from '../world';

const question = [{ role: 'user', content: 'Say hello' }];

/** Sends the request and waits until it is recorded with its cost. */
async function expectRecorded(
  { rows }: Pick<World, 'rows'>,
  requestId: string | null,
  status: number,
): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (Date.now() < deadline) {
    const records = await rows<{ status: number }>(
      'SELECT status FROM request_record WHERE request_id = $1',
      [requestId],
    );
    if (records[0]?.status === status) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the request is not on record');
}

/** Scenario of an inference route: a valid body, an invalid one, and no key. */
function inference(
  path: string,
  body: object,
  isAnswered: (text: string) => boolean,
  invalidBody: object,
  code: string,
): Scenario {
  const send = (client: Client, json: object) => client.post(path, { json });
  return {
    operation: `POST ${path}`,
    success: async (world) => {
      const answer = await send(world.key, body);
      expectStatus(answer, 200);
      expect(isAnswered(answer.text), `not what was asked for: ${answer.text.slice(0, 200)}`);
      await expectRecorded({ rows: world.rows.bind(world) }, answer.headers.get('x-request-id'), 200);
    },
    badInput: async (world) => expectStatus(await send(world.key, invalidBody), 400, code),
    withoutRights: async (world) => {
      expectStatus(await send(world.anonymous, body), 401);
      expectStatus(await send(world.rootKey, body), 403, 'forbidden');
    },
  };
}

const has =
  (...names: string[]) =>
  (text: string): boolean =>
    names.every((name) => text.includes(`"${name}"`));

function speechFile(): FormData {
  const seconds = 1;
  const rate = 8_000;
  const samples = Buffer.alloc(seconds * rate);
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  const form = new FormData();
  form.set('model', 'sim-transcribe');
  form.set('file', new Blob([Buffer.concat([header, samples])], { type: 'audio/wav' }), 'speech.wav');
  return form;
}

export const gatewayScenarios: readonly Scenario[] = [
  {
    operation: 'GET /health',
    success: async (world) => {
      const answer = await world.anonymous.get('/health');
      expectStatus(answer, 200);
      expect(jsonOf(answer)['status'] === 'ok', 'the status is ok');
    },
    badInput: 'none',
    withoutRights: 'public',
  },
  {
    operation: 'GET /v1/models',
    success: async (world) => {
      const answer = await world.key.get('/v1/models');
      expectStatus(answer, 200);
      const ids = (jsonOf(answer)['data'] as { id: string }[]).map(({ id }) => id);
      expect(ids.includes('sim-small'), 'the models of the key are listed');
    },
    badInput: async (world) => expectStatus(await world.key.get('/v1/models?limit=none'), 400, 'invalid_'),
    withoutRights: async (world) => expectStatus(await world.anonymous.get('/v1/models'), 401),
  },
  inference(
    '/v1/chat/completions',
    { model: 'sim-small', messages: question, max_tokens: 20 },
    has('choices', 'usage'),
    { model: 'sim-small', messages: 'hello' },
    'invalid_',
  ),
  inference(
    '/v1/messages',
    { model: 'sim-small', messages: question, max_tokens: 20 },
    has('content', 'usage'),
    { model: 'sim-small', messages: question },
    'max_tokens',
  ),
  {
    operation: 'POST /v1/messages/count_tokens',
    success: async (world) => {
      const answer = await world.key.post('/v1/messages/count_tokens', {
        json: { model: 'sim-small', messages: question },
      });
      expectStatus(answer, 200);
      expect(Number(jsonOf(answer)['input_tokens']) > 0, 'tokens are counted');
    },
    badInput: async (world) =>
      expectStatus(
        await world.key.post('/v1/messages/count_tokens', { json: { model: 'sim-small' } }),
        400,
        'messages',
      ),
    withoutRights: async (world) =>
      expectStatus(
        await world.anonymous.post('/v1/messages/count_tokens', {
          json: { model: 'sim-small', messages: question },
        }),
        401,
      ),
  },
  inference(
    '/v1/native/responses',
    { model: 'sim-small', stream: true, input: [{ role: 'user', content: 'Say hello' }] },
    (text) => text.includes('response.completed'),
    { model: 'sim-small', stream: false, input: [] },
    'stream',
  ),
  inference(
    '/v1/embeddings',
    { model: 'sim-embed', input: 'hello' },
    has('embedding'),
    { model: 'sim-embed' },
    'input',
  ),
  inference(
    '/v1/rerank',
    { model: 'sim-rerank', query: 'hello', documents: ['hello', 'good bye'] },
    has('results'),
    { model: 'sim-rerank', query: 'hello' },
    'documents',
  ),
  {
    operation: 'POST /v1/audio/transcriptions',
    success: async (world) => {
      const answer = await world.key.post('/v1/audio/transcriptions', { body: speechFile() });
      expectStatus(answer, 200);
      expect(typeof jsonOf(answer)['text'] === 'string', 'the text is answered');
      await expectRecorded({ rows: world.rows.bind(world) }, answer.headers.get('x-request-id'), 200);
    },
    badInput: async (world) => {
      const form = speechFile();
      form.delete('file');
      expectStatus(await world.key.post('/v1/audio/transcriptions', { body: form }), 400, 'file');
    },
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.post('/v1/audio/transcriptions', { body: speechFile() }), 401),
  },
  {
    operation: 'POST /v1/audio/speech',
    success: async (world) => {
      const json = { model: 'sim-speech', input: 'hello', voice: 'alloy' };
      const answer = await world.key.post('/v1/audio/speech', { json });
      expectStatus(answer, 200);
      expect(answer.headers.get('content-type')?.startsWith('audio/') === true, 'sound is answered');
      expect(answer.bytes.length > 0, 'there is sound');
      await expectRecorded({ rows: world.rows.bind(world) }, answer.headers.get('x-request-id'), 200);
    },
    badInput: async (world) =>
      expectStatus(await world.key.post('/v1/audio/speech', { json: { model: 'sim-speech' } }), 400, 'input'),
    withoutRights: async (world) =>
      expectStatus(await world.anonymous.post('/v1/audio/speech', { json: { model: 'sim-speech' } }), 401),
  },
];
