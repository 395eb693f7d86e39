import { createHash, createHmac } from 'node:crypto';
import { startTestApp, type TestApp } from '../../support/app';
import { builtExtension, type ExtensionFolder } from '../../support/extension-folder';
import { gatewayFile } from '../../support/gateway-file';
import { type ReceivedRequest, type ScriptedAnswer, ScriptedSupplier } from '../../support/scripted-supplier';

const KEY = 'team-7';
const SECRET = 'secret-of-the-model-server';

let app: TestApp;
let model: string;
let made = 0;
let extension: ExtensionFolder;
let echo: ScriptedSupplier;
let backup: ScriptedSupplier;

beforeAll(async () => {
  extension = builtExtension('examples/extensions/echo-supplier');
  echo = await ScriptedSupplier.start();
  backup = await ScriptedSupplier.start();
  app = await startTestApp({ environment: { EXTENSIONS: extension.path, SUPPLIER_ALLOW: '127.0.0.1' } });
});
/** A model of its own for every test: what one of them learns about a supplier does not concern the next. */
beforeEach(async () => {
  const [first, second] = [`echo-${(made += 1)}`, `backup-${made}`];
  model = `parrot-${made}`;
  const provider = (url: string, region: string): string =>
    `{ style: echo, base_url: "${url}", regions: [${region}], credentials: { main: { kind: sigv4, access_key_id: '\${ID}', secret_access_key: '\${SECRET}' } } }`;
  await gatewayFile(
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
  echo.answer = backup.answer = strictly(answers);
  echo.heard.length = backup.heard.length = 0;
});
afterAll(async () => {
  await app.close();
  await echo.stop();
  await backup.stop();
  extension.remove();
});

const answers = ({ body }: ReceivedRequest): ScriptedAnswer =>
  (JSON.parse(body) as { stream: boolean }).stream ? { body: streamed() } : { body: whole };

const whole = { says: 'Polly wants a crédit.', why: 'done', read: 12, wrote: 5 };
const streamed = (): string =>
  [
    '{"says":"Polly wants "}',
    '{"says":"a crédit."}',
    '{"done":{"why":"limit","read":12,"wrote":5}}',
    '',
  ].join('\n');

/** A model server that refuses whatever its interface does not describe. */
const strictly =
  (answer: (request: ReceivedRequest) => ScriptedAnswer) =>
  (request: ReceivedRequest): ScriptedAnswer => {
    const { path, headers, body } = request;
    const time = String(headers['x-echo-time']);
    const digest = createHash('sha256').update(body).digest('hex');
    const expected = createHmac('sha256', SECRET).update(`POST\n${path}\n${time}\n${digest}`).digest('hex');
    if (headers['x-echo-key'] !== KEY || headers['x-echo-signature'] !== expected)
      return { status: 401, body: { problem: 'bad-signature' } };
    if (Math.abs(Number(time) - Date.now() / 1_000) > 60)
      return { status: 401, body: { problem: 'bad-signature' } };
    const known = ['model', 'turns', 'stream', 'limit', 'warmth'];
    const unknown = Object.keys(JSON.parse(body) as object).find((name) => !known.includes(name));
    if (unknown !== undefined) return { status: 400, body: { problem: 'bad-request', says: unknown } };
    return answer(request);
  };

const ask = (path: string, body: object): Promise<Response> =>
  fetch(`${app.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const turns = [
  { role: 'system', content: 'Be a parrot.' },
  { role: 'user', content: [{ type: 'text', text: 'Polly?' }] },
];

async function recordOf(answer: Response) {
  const id = answer.headers.get('x-request-id');
  const [row] = await app.database.query<Record<string, unknown>>(
    'SELECT * FROM request_record WHERE request_id = $1',
    [id],
  );
  return row;
}

/** The first lane was asked, and the second answered. */
const tookOver = () => ({
  supplier: `backup-${made}`,
  failover: true,
  attempts: [{ supplier: `echo-${made}` }, { outcome: 'answered' }],
});

/** 12 tokens at 3 dollars and 5 at 7 dollars a million. */
const billed = { input_tokens: 12, output_tokens: 5, cost_nano: String(12 * 3_000 + 5 * 7_000) };

test('a whole answer, signed for and billed by what the model server says', async () => {
  const answer = await ask('chat/completions', { model, messages: turns, temperature: 0.5, tools: [] });
  expect(await answer.json()).toMatchObject({
    choices: [{ message: { role: 'assistant', content: whole.says }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 5 },
  });
  expect(JSON.parse(echo.heard[0]?.body ?? '')).toMatchObject({
    model: 'parrot-9',
    turns: [
      { who: 'rules', says: 'Be a parrot.' },
      { who: 'person', says: 'Polly?' },
    ],
    warmth: 0.5,
    stream: false,
  });
  expect(await recordOf(answer)).toMatchObject({ supplier: `echo-${made}`, region: 'eu', ...billed });
});

test.each([
  ['chat/completions', { messages: turns }, /a crédit\..*"finish_reason":"length".*\[DONE\]/s],
  ['messages', { messages: turns.slice(1), max_tokens: 50 }, /a crédit\..*max_tokens.*message_stop/s],
  ['responses', { input: 'Polly?' }, /a crédit\..*response\.incomplete/s],
])('a stream of %s', async (path, body, expected) => {
  const answer = await ask(path, { model, stream: true, ...body });
  expect(await answer.text()).toMatch(expected);
  expect(await recordOf(answer)).toMatchObject({ supplier: `echo-${made}`, ...billed });
});

describe('another lane takes over', () => {
  test.each<[string, ScriptedAnswer]>([
    ['the server is busy', { status: 503, body: { problem: 'busy' } }],
    ['it does not take the signature', { status: 401, body: { problem: 'bad-signature' } }],
    ['its answer is none', { body: 'ok' }],
    ['its answer does not say what it costs', { body: { says: 'Hm', why: 'done' } }],
  ])('where %s', async (_why, failure) => {
    echo.answer = failure;
    const answer = await ask('chat/completions', { model, messages: turns });
    expect(answer.status).toBe(200);
    expect(await recordOf(answer)).toMatchObject({ ...tookOver(), ...billed });
  });

  test.each(['rubbish\n', '{"problem":"out of seeds"}\n'])('where a stream begins with %s', async (line) => {
    echo.answer = { body: line };
    const answer = await ask('chat/completions', { model, messages: turns, stream: true });
    expect(await answer.text()).toContain('[DONE]');
    expect(await recordOf(answer)).toMatchObject({ ...tookOver(), ...billed });
  });
});

test('what is wrong with a request is told to its caller, in the words of the server', async () => {
  echo.answer = { status: 400, body: { problem: 'bad-request', says: 'Parrots have no warmth of 9.' } };
  const answer = await ask('chat/completions', { model, messages: turns });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('Parrots have no warmth of 9.');
  expect(backup.heard).toHaveLength(0);
});

test('a request that has to stay in a region goes to no lane elsewhere', async () => {
  echo.answer = { status: 503, body: { problem: 'busy' } };
  const body = { model, messages: turns };
  const answer = await ask('chat/completions', { ...body, region: 'eu' });
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(echo.heard).toHaveLength(1);
  expect(backup.heard).toHaveLength(0);
});

test('a model without a price is not served', async () => {
  const answer = await ask('chat/completions', { model: 'unpriced', messages: turns });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(echo.heard).toHaveLength(0);
});
