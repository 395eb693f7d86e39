import { Metrics } from '#product/platform';
import { until } from '../../support/until';
import { app, closeFixture, openFixture } from './gateway-fixture';

describe('Request metrics', () => {
  beforeAll(openFixture);
  afterAll(closeFixture);

  const sendRequest = (model: string, extra: object = {}, text = 'x [[tokens=9]]'): Promise<Response> =>
    fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: text }], ...extra }),
    });

  test('metrics count responses, tokens, cost, supplier calls and errors, without a series for unknown model names', async () => {
    expect((await sendRequest('sim-large')).status).toBe(200);
    expect((await sendRequest('made-up-by-a-caller')).status).toBe(404);
    const text = await app.application.get(Metrics).text();
    for (const line of [
      'gateway_requests_total{endpoint="chat",model="sim-large",status_class="2xx",error_code=""} 1',
      'gateway_requests_total{endpoint="chat",model="",status_class="4xx",error_code="model_not_found"} 1',
      'gateway_tokens_total{model="sim-large",type="output"} 9',
      'gateway_upstream_attempts_total{provider="sandbox",model="sim-large",region="local",outcome="answered"} 1',
      'gateway_rejections_total{reason="model_not_found"} 1',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).toMatch(
      /gateway_cost_usd_total\{model="sim-large",provider="sandbox",side="customer"\} 0\.0001/,
    );
    expect(text).not.toContain('made-up-by-a-caller');
  });

  // "gateway_build_info{commit} is unknown"
  test('gateway_build_info names the commit that was built', async () => {
    const text = await app.application.get(Metrics).text();
    expect(text).toMatch(/^gateway_build_info\{version="[^"]+",commit="[0-9a-f]{40}(-dirty)?"\} 1$/m);
  });

  test('rejected key is counted like any other error', async () => {
    const answer = await fetch(`${app.url}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: 'Bearer svc_nobody', 'content-type': 'application/json' },
      body: '{}',
    });
    expect(answer.status).toBe(401);
    const { code } = ((await answer.json()) as { error: { code: string } }).error;
    const text = await app.application.get(Metrics).text();
    expect(text).toContain(
      `gateway_requests_total{endpoint="",model="",status_class="4xx",error_code="${code}"} 1`,
    );
    expect(text).toContain(`gateway_rejections_total{reason="${code}"} 1`);
  });

  test('gauges of open requests and holds show the current state', async () => {
    const answer = await sendRequest('sim-large', { stream: true }, '[[tokens=40]] [[pace=100]]');
    const reader = answer.body!.getReader();
    await reader.read();
    const duringRequest = await app.application.get(Metrics).text();
    expect(duringRequest).toContain('gateway_streams_active{endpoint="chat"} 1');
    expect(duringRequest).toMatch(/gateway_wallet_holds_usd 1\.\d+/);
    expect(duringRequest).toContain(
      'gateway_circuit_state{provider="sandbox",model="sim-large",region="local"} 0',
    );
    while (!(await reader.read()).done);
    let afterRequest = '';
    await until(async () => {
      afterRequest = await app.application.get(Metrics).text();
      return afterRequest.includes('gateway_streams_active{endpoint="chat"} 0');
    });
    expect(afterRequest).toContain('gateway_wallet_holds_usd 0\n');
    expect(afterRequest).toContain('gateway_settlements_pending 0');
  });
});
