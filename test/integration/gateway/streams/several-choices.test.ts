import { startTestApp, type TestApp } from '../../../support/app';
import { type ScriptedResponse, ScriptedSupplier } from '../../../support/scripted-supplier';
import { TestCatalogue } from '../test-catalogue';
import { data } from './stream-fixture';

const headers = { 'content-type': 'text/event-stream' };
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const messages = [{ role: 'user', content: 'Hello' }];

describe('Responses with several choices or an unexpected form', () => {
  let app: TestApp;
  let first: ScriptedSupplier;
  let backup: ScriptedSupplier;
  let catalogue: TestCatalogue;
  let modelCount = 0;

  beforeAll(async () => {
    [first, backup] = await Promise.all([ScriptedSupplier.start(), ScriptedSupplier.start()]);
    app = await startTestApp({ environment: { SUPPLIER_ALLOW: '127.0.0.0/8' } });
    catalogue = new TestCatalogue(app);
    for (const style of ['openai-style', 'messages-style', 'gemini']) {
      const kind = style === 'openai-style' ? 'bearer' : 'header';
      const credentials = [{ label: 'one', kind, secret: 'sk-canary-of-ours' }] as const;
      for (const [place, { url: baseUrl }] of Object.entries({ first, backup }))
        await catalogue.provider({
          name: `${style}-${place}`,
          style,
          baseUrl,
          credentials: [...credentials],
        });
    }
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([first.stop(), backup.stop()]);
  });

  const sendRequest = async (style: string, path: string, body: object, answer: ScriptedResponse) => {
    const model = `several-${(modelCount += 1)}`;
    const lanes = ['first', 'backup'].map((place, priority) => ({
      provider: `${style}-${place}`,
      upstreamModel: `up-${model}`,
      priority,
    }));
    await catalogue.model(model, lanes);
    first.answer = answer;
    backup.answer = { status: 400, body: { error: { message: 'the backup was asked' } } };
    const response = await fetch(app.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${app.firstKeys?.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages, ...body }),
    });
    const responseBody = (await response.json()) as Record<string, unknown>;
    const [record] = await app.database.query<Record<string, unknown>>(
      'SELECT * FROM request_record WHERE request_id = $1',
      [response.headers.get('x-request-id')],
    );
    return { model, status: response.status, told: responseBody, record };
  };
  const requestTwoChoices = (answer: ScriptedResponse) =>
    sendRequest('openai-style', '/v1/chat/completions', { n: 2 }, answer);

  const chunkOf = (index: number, delta: object, reason: string | null = null): object => ({
    id: 'c',
    model: 'upstream-name',
    choices: [{ index, delta, finish_reason: reason }],
  });
  const chunks = [
    chunkOf(1, { role: 'assistant', content: 'sec' }),
    chunkOf(0, { role: 'assistant', content: 'fir' }),
    chunkOf(1, { content: 'ond' }),
    chunkOf(0, { content: 'st' }, 'stop'),
    chunkOf(1, {}, 'length'),
  ];

  test('stream sent for a non-streaming request is returned with every choice', async () => {
    const body = data(...chunks, { id: 'c', choices: [], usage }, '[DONE]');
    const { status, told, model, record } = await requestTwoChoices({ headers, body });
    expect(status).toBe(200);
    expect(told).toMatchObject({
      model,
      choices: [
        { index: 0, message: { role: 'assistant', content: 'first' }, finish_reason: 'stop' },
        { index: 1, message: { role: 'assistant', content: 'second' }, finish_reason: 'length' },
      ],
      usage,
    });
    expect(record).toMatchObject({ input_tokens: 10, output_tokens: 5, usage_source: 'supplier' });
  });

  test('stream with an unfinished choice fails over', async () => {
    const requestsBefore = backup.requests.length;
    const { record } = await requestTwoChoices({ headers, body: data(...chunks.slice(0, 4), '[DONE]') });
    expect(record).toMatchObject({ cost_nano: '0', failover: true });
    expect(backup.requests.length).toBe(requestsBefore + 1);
  });

  test('every choice is charged without usage, as JSON and as a stream', async () => {
    const choices = ['x'.repeat(400), 'y'.repeat(80)].map((content, index) => ({
      index,
      message: { role: 'assistant', content },
      finish_reason: 'stop',
    }));
    const choiceChunks = choices.map(({ index, message }) => chunkOf(index, message, 'stop'));
    for (const answer of [{ body: { id: 'c', choices } }, { headers, body: data(...choiceChunks, '[DONE]') }])
      expect((await requestTwoChoices(answer)).record).toMatchObject({
        output_tokens: 120,
        usage_source: 'estimated',
      });
  });

  test.each([
    ['whole', 'gemini'],
    ['streamed', 'messages-style'],
  ])('credential refused with a 200, %s, raises the alert', async (manner, style) => {
    const error = { type: 'authentication_error', status: 'UNAUTHENTICATED', message: 'bad key', code: 401 };
    const isStreamed = manner === 'streamed';
    const requestsBefore = backup.requests.length;
    const { status, told } = await sendRequest(
      style,
      '/v1/messages',
      { max_tokens: 9, stream: isStreamed },
      isStreamed ? { headers, body: data({ type: 'error', error }) } : { body: { error } },
    );
    expect([status, (told.error as { code: string }).code]).toEqual([503, 'provider_unavailable']);
    expect(backup.requests.length).toBe(requestsBefore + 1);
    const lines = app.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg }) => String(msg).startsWith('alert')).at(-1)).toMatchObject({
      provider: `${style}-first`,
      code: 'provider_unavailable',
    });
  });
});
