import { startSimulator, type FaultRule, type Simulator } from '../../../support/simulator';
import { startTestApp, type TestApp } from '../../../support/app';
import { TestCatalogue } from '../test-catalogue';

type SimulatedFault = FaultRule['fault'];
interface FaultFailure {
  readonly code: string;
  readonly message: string;
}

/** Uses one model per call, so that no circuit breaker of another test is open. */
describe('Misbehaving supplier without a backup', () => {
  let app: TestApp;
  let supplier: Simulator;
  let catalogue: TestCatalogue;
  let modelCount = 0;

  beforeAll(async () => {
    supplier = await startSimulator();
    app = await startTestApp({ sandboxUrl: supplier.url });
    catalogue = new TestCatalogue(app);
    const options = {
      style: 'openai-style',
      baseUrl: supplier.url,
      credentials: [{ label: 'one', kind: 'bearer', secret: 'sim-canary-of-ours' }],
    } as const;
    await catalogue.provider({ ...options, name: 'strange' });
    // `firstToken` is shorter than `idle`, so that the output of a stalled stream is deterministic.
    await catalogue.provider({
      ...options,
      name: 'silent',
      timeouts: { firstByte: 1_000, firstToken: 300, idle: 1_000 },
    });
  });
  afterAll(async () => {
    await app.close();
    await supplier.stop();
  });

  async function sendWithFault(fault: SimulatedFault, stream: boolean) {
    const model = `strange-${(modelCount += 1)}`;
    const provider = fault.kind === 'hang' || fault.kind === 'stall' ? 'silent' : 'strange';
    await catalogue.model(model, [{ provider, upstreamModel: `sim-${model}` }]);
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
  const failureIn = (text: string): FaultFailure => (JSON.parse(text) as { error: FaultFailure }).error;

  const faults: [SimulatedFault, number, RegExp][] = [
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

  test.each(faults)('non-streaming request with %j returns %s %s', async (fault, status, code) => {
    const answer = await sendWithFault(fault, false);
    const { code: receivedCode, message } = failureIn(answer.text);
    expect([answer.status, receivedCode]).toEqual([status, expect.stringMatching(code)]);
    expect(message).toMatch(/^\w+ - ./);
    expect(answer.text).not.toContain('canary');
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    // Without the supplier's timeouts, a silent supplier would be awaited for five minutes.
    expect(answer.tookMs).toBeLessThan(25_000);
  });

  test.each<SimulatedFault>([
    { kind: 'non-json' },
    { kind: 'empty-body' },
    { kind: 'reset' },
    { kind: 'hang' },
    { kind: 'status', status: 500 },
    { kind: 'malformed-event' },
  ])('stream that never starts returns a JSON error: %j', async (fault) => {
    const answer = await sendWithFault(fault, true);
    expect([502, 503, 504]).toContain(answer.status);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(failureIn(answer.text).code).toMatch(/^\w+$/);
  });

  test.each<SimulatedFault>([
    { kind: 'cut', after: 8 },
    { kind: 'reset', after: 8 },
    { kind: 'clean-cut', after: 8 },
    { kind: 'stall', after: 8 },
    // The headers have already been sent, because keep-alive pings start while no other lane can answer.
    { kind: 'stall', after: 0 },
    { kind: 'malformed-event', after: 8 },
    { kind: 'error-event', after: 8 },
  ])('stream that breaks ends with an error and no terminator: %j', async (fault) => {
    const { status, text } = await sendWithFault(fault, true);
    expect(status).toBe(200);
    expect(text).not.toContain('[DONE]');
    const lastEvent = text.trim().split('\n\n').at(-1) ?? '';
    expect(failureIn(lastEvent.replace(/^data: /, '')).code).toMatch(
      /^(stream_interrupted|stream_error|upstream_\w+|non_json_\w+)$/,
    );
  });

  test('endless event is not buffered without limit', async () => {
    const rssBefore = process.memoryUsage().rss;
    const answer = await sendWithFault({ kind: 'huge-body' }, true);
    expect(answer.text.length).toBeLessThan(5_000_000);
    expect(answer.text).not.toContain('[DONE]');
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(400 * 1024 * 1024);
  });
});
