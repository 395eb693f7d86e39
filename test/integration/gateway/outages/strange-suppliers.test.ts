import { startSimulator, type FaultRule, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { ModelShelf } from '../model-shelf';

type Fault = FaultRule['fault'];
interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Each on a model of its own, so that no breaker of another opens. */
describe('a supplier alone that does not do what it should', () => {
  let app: TestApp;
  let supplier: Simulator;
  let shelf: ModelShelf;
  let made = 0;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    shelf = new ModelShelf(app);
    const common = {
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    } as const;
    await shelf.provider({ ...common, name: 'strange' });
    // Its first token is due before its silence is one: what goes out of a stalled stream is the same every time.
    await shelf.provider({
      ...common,
      name: 'silent',
      timeouts: { firstByte: 1_000, firstToken: 300, idle: 1_000 },
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function askWith(fault: Fault, stream: boolean) {
    const model = `strange-${(made += 1)}`;
    const provider = fault.kind === 'hang' || fault.kind === 'stall' ? 'silent' : 'strange';
    await shelf.model(model, [{ provider, upstreamModel: `sim-${model}` }]);
    await supplier.addFault({ fault });
    const startedAt = performance.now();
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        stream,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'x [[tokens=40]]' }],
      }),
    });
    const text = await answer.text();
    await supplier.clearFaults();
    return { status: answer.status, text, tookMs: performance.now() - startedAt, headers: answer.headers };
  }
  const failureIn = (text: string): Failure => (JSON.parse(text) as { error: Failure }).error;

  const whole: [Fault, number, RegExp][] = [
    [{ kind: 'non-json' }, 502, /^non_json_provider_response$/],
    [{ kind: 'empty-body' }, 502, /^empty_response$/],
    [{ kind: 'huge-body' }, 502, /^provider_response_too_large$/],
    [{ kind: 'gzip-bomb', bytes: 20_000_000 }, 502, /^upstream_invalid_response$/],
    [{ kind: 'clean-cut' }, 502, /^(non_json_provider_response|upstream_invalid_response)$/],
    [{ kind: 'cut' }, 503, /^upstream_unavailable$/],
    [{ kind: 'reset' }, 503, /^upstream_unavailable$/],
    [{ kind: 'hang' }, 504, /^upstream_timeout$/],
    [{ kind: 'stall' }, 504, /^upstream_timeout$/],
    [{ kind: 'status', status: 500 }, 503, /^upstream_unavailable$/],
    [{ kind: 'status', status: 502 }, 503, /^upstream_unavailable$/],
    [{ kind: 'status', status: 401 }, 503, /^provider_unavailable$/],
    [{ kind: 'status', status: 403 }, 503, /^provider_unavailable$/],
    [{ kind: 'status', status: 400 }, 400, /^invalid_request$/],
    [{ kind: 'status', status: 413 }, 413, /^request_too_large$/],
    [{ kind: 'status', status: 429, headers: { 'retry-after': '7' } }, 429, /^supplier_limit$/],
  ];

  test.each(whole)('a whole answer: %j is %s %s', async (fault, status, code) => {
    const answer = await askWith(fault, false);
    const { code: told, message } = failureIn(answer.text);
    expect([answer.status, told]).toEqual([status, expect.stringMatching(code)]);
    expect(message).toMatch(/^\w+ - ./);
    expect(answer.text).not.toContain('canary');
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    // Without the limits of its supplier, a silent one would be waited for five minutes.
    expect(answer.tookMs).toBeLessThan(25_000);
  });

  test.each<Fault>([
    { kind: 'non-json' },
    { kind: 'empty-body' },
    { kind: 'reset' },
    { kind: 'hang' },
    { kind: 'status', status: 500 },
    { kind: 'malformed-event' },
  ])('a stream that never begins: %j is an answer of its own, not a stream', async (fault) => {
    const answer = await askWith(fault, true);
    expect([502, 503, 504]).toContain(answer.status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(failureIn(answer.text).code).toMatch(/^\w+$/);
  });

  test.each<Fault>([
    { kind: 'cut', after: 8 },
    { kind: 'reset', after: 8 },
    { kind: 'clean-cut', after: 8 },
    { kind: 'stall', after: 8 },
    // The caller is kept awake while nobody else could answer, so the head has gone out.
    { kind: 'stall', after: 0 },
    { kind: 'malformed-event', after: 8 },
    { kind: 'error-event', after: 8 },
  ])('a stream that breaks: %j ends in an error and in no end', async (fault) => {
    const { status, text } = await askWith(fault, true);
    expect(status).toBe(200);
    expect(text).not.toContain('[DONE]');
    const last = text.trim().split('\n\n').at(-1) ?? '';
    expect(failureIn(last.replace(/^data: /, '')).code).toMatch(
      /^(stream_interrupted|stream_error|upstream_\w+|non_json_\w+)$/,
    );
  });

  test('an event without an end is not collected for ever', async () => {
    const before = process.memoryUsage().rss;
    const answer = await askWith({ kind: 'huge-body' }, true);
    expect(answer.text.length).toBeLessThan(5_000_000);
    expect(answer.text).not.toContain('[DONE]');
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });
});
