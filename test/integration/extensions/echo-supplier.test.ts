import { createHash, createHmac } from 'node:crypto';
import { startTestApp, type TestApp } from '../../support/app';
import { buildExtension, type ExtensionFolder } from '../../support/extension-folder';
import { applyGatewayFile } from '../../support/gateway-file';
import {
  type ReceivedRequest,
  type ScriptedResponse,
  ScriptedSupplier,
} from '../../support/scripted-supplier';

const KEY = 'team-7';
const SECRET = 'secret-of-the-model-server';

let app: TestApp;
let model: string;
let modelCount = 0;
let extension: ExtensionFolder;
let echo: ScriptedSupplier;
let backup: ScriptedSupplier;

beforeAll(async () => {
  extension = buildExtension('examples/extensions/echo-supplier');
  echo = await ScriptedSupplier.start();
  backup = await ScriptedSupplier.start();
  app = await startTestApp({ environment: { EXTENSIONS: extension.path, SUPPLIER_ALLOW: '127.0.0.1' } });
});
/** Every test uses its own model, so that learned supplier limits do not affect the next test. */
beforeEach(async () => {
  const [first, second] = [`echo-${(modelCount += 1)}`, `backup-${modelCount}`];
  model = `parrot-${modelCount}`;
  const provider = (url: string, region: string): string =>
    `{ style: echo, base_url: "${url}", regions: [${region}], credentials: { main: { kind: sigv4, access_key_id: '\${ID}', secret_access_key: '\${SECRET}' } } }`;
  await applyGatewayFile(
    app,
    `version: 1
providers:
  ${first}: ${provider(echo.url, 'eu')}
  ${second}: ${provider(backup.url, 'us')}
models:
  ${model}:
    lanes:
      - { provider: ${first}, model: parrot-9, region: eu }
      - { provider: ${second}, model: parrot-8, region: us }
    price: { input: 3, output: 7 }
  unpriced: { lanes: [{ provider: ${first}, model: parrot-9, region: eu }] }
`,
    { ID: KEY, SECRET },
  );
  echo.answer = backup.answer = strictServer(echoResponse);
  echo.requests.length = backup.requests.length = 0;
});
afterAll(async () => {
  await app.close();
  await echo.stop();
  await backup.stop();
  extension.remove();
});

const echoResponse = ({ body }: ReceivedRequest): ScriptedResponse =>
  (JSON.parse(body) as { stream: boolean }).stream ? { body: streamedReply() } : { body: completeReply };

const completeReply = { says: 'Polly wants a crédit.', why: 'done', read: 12, wrote: 5 };
const streamedReply = (): string =>
  [
    '{"says":"Polly wants "}',
    '{"says":"a crédit."}',
    '{"done":{"why":"limit","read":12,"wrote":5}}',
    '',
  ].join('\n');

/** Model server that refuses every field outside its interface. */
const strictServer =
  (answer: (request: ReceivedRequest) => ScriptedResponse) =>
  (request: ReceivedRequest): ScriptedResponse => {
    const { path, headers, body } = request;
    const time = String(headers['x-echo-time']);
    const digest = createHash('sha256').update(body).digest('hex');
    const expected = createHmac('sha256', SECRET).update(`POST\n${path}\n${time}\n${digest}`).digest('hex');
    if (headers['x-echo-key'] !== KEY || headers['x-echo-signature'] !== expected)
      return { status: 401, body: { problem: 'bad-signature' } };
    if (Math.abs(Number(time) - Date.now() / 1_000) > 60)
      return { status: 401, body: { problem: 'bad-signature' } };
    const knownFields = ['model', 'turns', 'stream', 'limit', 'warmth'];
    const unknownField = Object.keys(JSON.parse(body) as object).find((name) => !knownFields.includes(name));
    if (unknownField !== undefined)
      return { status: 400, body: { problem: 'bad-request', says: unknownField } };
    return answer(request);
  };

const sendRequest = (path: string, body: object): Promise<Response> =>
  fetch(`${app.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const turns = [
  { role: 'system', content: 'Be a parrot.' },
  { role: 'user', content: [{ type: 'text', text: 'Polly?' }] },
];

async function recordFor(answer: Response) {
  const id = answer.headers.get('x-request-id');
  const [row] = await app.database.query<Record<string, unknown>>(
    'SELECT * FROM request_record WHERE request_id = $1',
    [id],
  );
  return row;
}

/** Record of a request that failed on the first lane and was answered by the second. */
const failedOverRecord = () => ({
  supplier: `backup-${modelCount}`,
  failover: true,
  attempts: [{ supplier: `echo-${modelCount}` }, { outcome: 'answered' }],
});

/** 12 input tokens at $3 per 1M and 5 output tokens at $7 per 1M. */
const billedUsage = { input_tokens: 12, output_tokens: 5, cost_nano: String(12 * 3_000 + 5 * 7_000) };

test('a non-streaming request is signed, and charged with the usage that the server reports', async () => {
  const answer = await sendRequest('chat/completions', {
    model,
    messages: turns,
    temperature: 0.5,
    tools: [],
  });
  expect(await answer.json()).toMatchObject({
    choices: [{ message: { role: 'assistant', content: completeReply.says }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 5 },
  });
  expect(JSON.parse(echo.requests[0]?.body ?? '')).toMatchObject({
    model: 'parrot-9',
    turns: [
      { who: 'rules', says: 'Be a parrot.' },
      { who: 'person', says: 'Polly?' },
    ],
    warmth: 0.5,
    stream: false,
  });
  expect(await recordFor(answer)).toMatchObject({
    supplier: `echo-${modelCount}`,
    region: 'eu',
    ...billedUsage,
  });
});

test.each([
  ['chat/completions', { messages: turns }, /a crédit\..*"finish_reason":"length".*\[DONE\]/s],
  ['messages', { messages: turns.slice(1), max_tokens: 50 }, /a crédit\..*max_tokens.*message_stop/s],
  ['responses', { input: 'Polly?' }, /a crédit\..*response\.incomplete/s],
])('a stream of %s is converted and charged', async (path, body, expected) => {
  const answer = await sendRequest(path, { model, stream: true, ...body });
  expect(await answer.text()).toMatch(expected);
  expect(await recordFor(answer)).toMatchObject({ supplier: `echo-${modelCount}`, ...billedUsage });
});

describe('Failover to the second lane', () => {
  test.each<[string, ScriptedResponse]>([
    ['the server is busy', { status: 503, body: { problem: 'busy' } }],
    ['it does not take the signature', { status: 401, body: { problem: 'bad-signature' } }],
    ['its answer is none', { body: 'ok' }],
    ['its answer does not say what it costs', { body: { says: 'Hm', why: 'done' } }],
  ])('the second lane answers when %s', async (_why, failure) => {
    echo.answer = failure;
    const answer = await sendRequest('chat/completions', { model, messages: turns });
    expect(answer.status).toBe(200);
    expect(await recordFor(answer)).toMatchObject({ ...failedOverRecord(), ...billedUsage });
  });

  test.each(['rubbish\n', '{"problem":"out of seeds"}\n'])(
    'the second lane answers when a stream starts with %s',
    async (line) => {
      echo.answer = { body: line };
      const answer = await sendRequest('chat/completions', { model, messages: turns, stream: true });
      expect(await answer.text()).toContain('[DONE]');
      expect(await recordFor(answer)).toMatchObject({ ...failedOverRecord(), ...billedUsage });
    },
  );
});

test('a request error reaches the caller with the message of the server', async () => {
  echo.answer = { status: 400, body: { problem: 'bad-request', says: 'Parrots have no warmth of 9.' } };
  const answer = await sendRequest('chat/completions', { model, messages: turns });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('Parrots have no warmth of 9.');
  expect(backup.requests).toHaveLength(0);
});

test('a request limited to a region is not sent to a lane in another region', async () => {
  echo.answer = { status: 503, body: { problem: 'busy' } };
  const body = { model, messages: turns };
  const answer = await sendRequest('chat/completions', { ...body, region: 'eu' });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(echo.requests).toHaveLength(1);
  expect(backup.requests).toHaveLength(0);
});

test('a model without a price is refused', async () => {
  const answer = await sendRequest('chat/completions', { model: 'unpriced', messages: turns });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(echo.requests).toHaveLength(0);
});
