import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { startTestApp } from '../../support/app';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { until } from '../../support/until';
import { supplierReplies, type GateFixture, openGateFixture } from './gate-fixture';

/** Unix time in seconds, the unit of webhook timestamps. */
const startedAt = Math.floor(Date.now() / 1_000);

const createSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

const chat = (content: string, rest: object = {}) => ({
  model: 'one',
  messages: [{ role: 'user', content }],
  ...rest,
});

const gateSetting = (url: string, stages = 'request', rest = 'timeout=5s'): string =>
  `asked=${url}/gate?at=1#stages=${stages}&${rest}`;

describe('A gate on another server', () => {
  let fixture: GateFixture;
  let gate: ScriptedSupplier;
  const secret = createSecret();

  beforeAll(async () => {
    gate = await ScriptedSupplier.start();
    fixture = await openGateFixture({
      HTTP_GATES: gateSetting(gate.url, 'request+candidates+settled'),
      HTTP_GATE_SECRETS: `asked=${secret}`,
    });
    await fixture.catalogue.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
  });
  afterAll(async () => {
    await fixture.close();
    await gate.stop();
  });
  beforeEach(() => {
    fixture.supplier.answer = { body: supplierReplies.chat };
    gate.answer = { body: { verdict: 'abstain' } };
    fixture.takeSupplierBodies();
    gate.requests.splice(0);
  });

  const sendChat = (content: string): Promise<Response> =>
    fixture.post('/v1/chat/completions', chat(content));

  test('receives signed requests with the JSON of an extension gate', async () => {
    const answer = await sendChat('Hello');
    expect(answer.status).toBe(200);
    await until(() => gate.requests.length >= 3);
    const bodies = gate.requests.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
    const request = {
      requestId: answer.headers.get('x-request-id'),
      operation: 'chat',
      model: 'one',
      stream: false,
      region: null,
      endUser: null,
      tags: [],
      key: expect.objectContaining({ id: expect.any(Number) as number }) as object,
      texts: [{ role: 'user', kind: 'text', text: 'Hello' }],
    };
    const lane = { id: expect.any(Number) as number, supplier: 'openai', model: 'one', region: 'eu' };
    const record = expect.objectContaining({ request_id: request.requestId, cost_usd: '0.000013' }) as object;
    expect(bodies).toEqual([
      { type: 'gate.request', request },
      { type: 'gate.candidates', request, lanes: [lane] },
      { type: 'gate.settled', record },
    ]);
    for (const { path, headers, body } of gate.requests) {
      expect(path).toBe('/gate?at=1');
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = headers;
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const expected = createHmac('sha256', key)
        .update(`${String(id)}.${String(time)}.${body}`)
        .digest('base64');
      expect(signature).toBe(`v1,${expected}`);
      expect(Number(time)).toBeGreaterThanOrEqual(startedAt);
      expect(Number(time)).toBeLessThanOrEqual(Date.now() / 1_000);
      // The gate must not receive the API key of the caller.
      expect(JSON.stringify([headers, body])).not.toContain(fixture.app.firstKeys?.demo);
    }
    expect(new Set(gate.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
    expect((await fixture.recordOf(answer))?.gates).toMatchObject([
      { name: 'http/asked', stage: 'request', verdict: 'abstain' },
      { name: 'http/asked', stage: 'candidates', verdict: 'abstain' },
    ]);
  });

  test('rewrites a request and rejects another', async () => {
    gate.answer = ({ body }) => ({
      body: body.includes('gate.request')
        ? { verdict: 'rewrite', texts: [{ at: 0, text: 'Hidden' }] }
        : { verdict: 'abstain' },
    });
    expect((await sendChat('Hello')).status).toBe(200);
    expect(fixture.takeSupplierBodies()).toEqual([JSON.stringify(chat('Hidden'))]);
    gate.answer = { body: { verdict: 'reject', code: 'request_rejected', message: 'No.' } };
    const refusal = await sendChat('Hello');
    expect(refusal.status).toBe(403);
    expect(await refusal.json()).toMatchObject({
      error: { human_message: 'No.', details: { gate: 'http/asked' } },
    });
  });

  test.each([
    ['an error', { status: 500, body: { verdict: 'abstain' } }],
    ['a redirect', { status: 302, headers: { location: '/' }, body: { verdict: 'abstain' } }],
    ['no JSON', { body: 'abstain' }],
    ['no verdict', { body: [] }],
    ['too much', { body: Buffer.alloc(40 * 1024 * 1024, 0x20) }],
  ])('fails closed when it returns %s', async (_what, answer) => {
    gate.answer = answer;
    const refusal = await sendChat('Hello');
    expect(refusal.status).toBe(503);
    expect(await refusal.json()).toMatchObject({
      error: { details: { gate: 'http/asked', stage: 'request', reason: 'failed' } },
    });
    expect(fixture.takeSupplierBodies()).toEqual([]);
  });

  test('is called before tokens are counted', async () => {
    gate.answer = { body: { verdict: 'reject', code: 'request_rejected', message: 'No.' } };
    expect((await fixture.post('/v1/messages/count_tokens', chat('Hello'))).status).toBe(403);
  });
});

test('an open gate that hangs or is unreachable lets requests through', async () => {
  const silent = await ScriptedSupplier.start();
  silent.answer = { body: '', rest: 'never' };
  const stopped = await ScriptedSupplier.start();
  await stopped.stop();
  const secret = createSecret();
  const fixture = await openGateFixture({
    HTTP_GATES: `silent=${silent.url}#timeout=50ms&onError=open, gone=${stopped.url}#onError=open`,
    HTTP_GATE_SECRETS: `silent=${secret},gone=${secret}`,
  });
  try {
    await fixture.catalogue.model('one', [{ provider: 'openai' }]);
    fixture.supplier.answer = { body: supplierReplies.chat };
    const answer = await fixture.post('/v1/chat/completions', chat('Hello'));
    expect(answer.status).toBe(200);
    expect((await fixture.recordOf(answer))?.gates).toMatchObject([
      { name: 'http/silent', verdict: 'late' },
      { name: 'http/gone', verdict: 'failed' },
    ]);
  } finally {
    await fixture.close();
    await silent.stop();
  }
});

test.each([
  [{ HTTP_GATES: 'lone=https://gate.example/' }, 'HTTP_GATE_SECRETS: has no secret for the gate lone'],
  [{ HTTP_GATES: 'lone=gate.example' }, 'HTTP_GATES'],
  [{ HTTP_GATES: 'lone=https://gate.example/#stages=answer' }, 'HTTP_GATES'],
  [{ HTTP_GATES: 'lone=https://gate.example/#timeout=1m' }, 'HTTP_GATES'],
  [{ HTTP_GATES: 'one=https://a.example,one=https://b.example' }, 'HTTP_GATES'],
  [{ HTTP_GATE_SECRETS: 'lone=whsec_c2hvcnQ=' }, 'HTTP_GATE_SECRETS'],
])('invalid gate settings are refused: %j', async (environment: Record<string, string>, expected) => {
  const refusal = await startTestApp({ environment }).catch((error: unknown) => error);
  expect(String(refusal)).toContain(expected);
  expect(String(refusal)).not.toContain('c2hvcnQ');
});

describe('The Python example gate', () => {
  const folder = join(resolve(__dirname, '..', '..', '..'), 'examples', 'extensions', 'python-gate');
  const secret = createSecret();
  let python: ChildProcess;
  let address: string;
  let fixture: GateFixture;

  beforeAll(async () => {
    python = spawn('python3', [join(folder, 'gate.py'), '0'], {
      env: { ...process.env, GATE_SECRET: secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(python.stdout!), 'line')) as [string];
    address = line.slice('listening on '.length);
    fixture = await openGateFixture({
      HTTP_GATES: `cards=${address}#timeout=10s`,
      HTTP_GATE_SECRETS: `cards=${secret}`,
    });
    await fixture.catalogue.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
    fixture.supplier.answer = { body: supplierReplies.chat };
  });
  afterAll(async () => {
    await fixture.close();
    python.kill();
    await once(python, 'close');
  });
  beforeEach(() => fixture.takeSupplierBodies());

  test('passes an unaffected request unchanged', async () => {
    const body = chat('The order 4111 1111 1111 1112 is no card. Öl €');
    expect((await fixture.post('/v1/chat/completions', body)).status).toBe(200);
    expect(fixture.takeSupplierBodies()).toEqual([JSON.stringify(body)]);
  });

  test('rejects a request that contains a protected project name', async () => {
    const answer = await fixture.post('/v1/chat/completions', chat('What of project Bluebird?'));
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: { code: 'request_rejected', human_message: 'Project Bluebird must not leave the company.' },
    });
    expect(fixture.takeSupplierBodies()).toEqual([]);
  });

  test('redacts card numbers', async () => {
    const answer = await fixture.post(
      '/v1/chat/completions',
      chat('Pay with 4111-1111 1111 1111, please – “now”'),
    );
    expect(answer.status).toBe(200);
    expect(fixture.takeSupplierBodies()).toEqual([JSON.stringify(chat('Pay with [card], please – “now”'))]);
  });

  test.each([
    ['no signature', {}],
    [
      'a wrong one',
      {
        'webhook-id': 'a',
        'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
        'webhook-signature': 'v1,AAAA',
      },
    ],
    ['an old message', signatureHeaders(secret, '{}', Math.floor(Date.now() / 1_000) - 3_600)],
  ])('returns 401 to a caller with %s', async (_what, headers: Record<string, string>) => {
    const answer = await fetch(address, { method: 'POST', headers, body: '{}' });
    expect(answer.status).toBe(401);
  });
});

function signatureHeaders(secret: string, body: string, seconds: number): Record<string, string> {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`a.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': 'a', 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
