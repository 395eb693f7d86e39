import { UserAccount } from '#product/identity';
import { ChatClient } from '../chat/chat-client';
import { signIn } from '../../support/people';
import { answers, type GateHouse, openGateHouse, untilSaid } from './gate-house';

let house: GateHouse;

beforeAll(async () => {
  house = await openGateHouse();
  await house.shelf.model('one', [{ provider: 'openai', upstreamModel: 'one' }]);
  await house.shelf.model('spoken', [{ provider: 'messages', upstreamModel: 'spoken' }]);
  await house.shelf.model('vectors', [{ provider: 'openai' }], undefined, 'embedding');
});
afterAll(() => house.close());
beforeEach(() => {
  house.supplier.answer = { body: answers.chat };
  house.heard();
});

const chat = (text: string, rest: object = {}) => ({
  model: 'one',
  messages: [{ role: 'user', content: text }],
  ...rest,
});

const verdictsOf = async (answer: Response): Promise<unknown> => {
  const record = await house.recordOf(answer);
  return (record?.gates as { name: string; verdict: string }[] | null)?.map(
    ({ name, verdict }) => `${name} ${verdict}`,
  );
};

test('gates that abstain let the caller’s bytes through, and stand in the record', async () => {
  const body = '{ "model":"one", "messages" : [ {"role":"user","content":"caf\\u00e9"} ], "seed": 1.50 }';
  const answer = await house.post('/v1/chat/completions', body);
  expect(answer.status).toBe(200);
  expect(house.heard()).toEqual([body]);
  const record = await house.recordOf(answer);
  expect(record?.gates).toEqual(
    ['open', 'closed', 'second']
      .map((name) => ({
        name: `tried/${name}`,
        stage: 'request',
        verdict: 'abstain',
        ms: expect.any(Number) as number,
      }))
      .concat([
        { name: 'tried/lanes', stage: 'candidates', verdict: 'abstain', ms: expect.any(Number) as number },
      ]),
  );
});

describe('a refusal', () => {
  test.each([
    ['chat', '/v1/chat/completions', chat('[[closed:reject]]')],
    ['chat, streamed', '/v1/chat/completions', chat('[[closed:reject]]', { stream: true })],
    ['responses', '/v1/responses', { model: 'one', input: '[[closed:reject]]' }],
    ['completions', '/v1/completions', { model: 'one', prompt: ['[[closed:reject]]'] }],
    ['embeddings', '/v1/embeddings', { model: 'vectors', input: ['a', '[[closed:reject]]'] }],
  ])('of %s reaches the caller in its dialect and stands in the record', async (_name, path, body) => {
    const answer = await house.post(path, body);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'request_rejected',
        human_message: 'No such words here.',
        details: { gate: 'tried/closed' },
      },
    });
    expect(house.heard()).toEqual([]);
    expect(await house.recordOf(answer)).toMatchObject({
      code: 'request_rejected',
      status: 403,
      cost_nano: '0',
    });
    expect(await verdictsOf(answer)).toEqual(['tried/open abstain', 'tried/closed reject']);
  });

  test('of messages, which came later', async () => {
    const answer = await house.post('/v1/messages', chat('[[open:reject-later]]', { max_tokens: 5 }));
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', code: 'invalid_request' },
    });
    expect(await verdictsOf(answer)).toEqual(['tried/open reject']);
  });

  test('comes before the model is looked for, and when tokens are counted as well', async () => {
    const unknown = await house.post('/v1/chat/completions', chat('[[closed:reject]]', { model: 'nobody' }));
    expect(unknown.status).toBe(403);
    const counted = await house.post('/v1/messages/count_tokens', chat('[[closed:reject]]'));
    expect(counted.status).toBe(403);
  });
});

const faults = ['throw', 'throw-odd', 'reject-promise', 'hang', 'fail-after-deadline'];
const late = new Set(['hang', 'fail-after-deadline']);

describe.each([...faults, ...Array.from({ length: 14 }, (_, place) => String(place))])(
  'a gate that does %s',
  (fault) => {
    const how = late.has(fault) ? 'late' : 'failed';

    test('is passed where it is open', async () => {
      const body = chat(`[[open:${fault}]]`);
      const answer = await house.post('/v1/chat/completions', body);
      expect(answer.status).toBe(200);
      expect(house.heard()).toEqual([JSON.stringify(body)]);
      expect(await verdictsOf(answer)).toEqual([
        `tried/open ${how}`,
        'tried/closed abstain',
        'tried/second abstain',
        'tried/lanes abstain',
      ]);
    });

    test('ends the request where it is closed', async () => {
      const answer = await house.post('/v1/chat/completions', chat(`[[closed:${fault}]]`));
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        error: {
          code: 'service_unavailable',
          details: { gate: 'tried/closed', stage: 'request', reason: how },
        },
      });
      expect(house.heard()).toEqual([]);
      expect(await verdictsOf(answer)).toEqual(['tried/open abstain', `tried/closed ${how}`]);
    });
  },
);

test('a gate that hangs is told by its signal', async () => {
  await house.post('/v1/chat/completions', chat('[[open:hang]]'));
  await untilSaid(house, 'the signal came');
});

test('a gate cannot change what it is shown', async () => {
  const body = chat('[[open:spoil]]');
  const answer = await house.post('/v1/chat/completions', { ...body, metadata: { tags: ['a'] } });
  expect(answer.status).toBe(200);
  expect(house.heard()).toEqual([JSON.stringify(body)]);
  expect(await house.recordOf(answer)).toMatchObject({ tags: ['a'], model: 'one' });
});

describe('a rewrite', () => {
  const hidden = '“hidden” \\\\ 🙂';

  test.each(['rewrite', 'rewrite-later'])(
    'by %s changes the text alone, and the next gate sees it',
    async (verb) => {
      const say = (text: string): string =>
        `\n{ "m\\u006fdel":"one","seed":12345678901234567890, "messages":[ {"role" : "user", "content":[{"type":"text","te\\u0078t": ${text} }]} , {"content":"[[open:${verb}]] [[second:show]]","role":"user"}]}\r\n`;
      const answer = await house.post(
        '/v1/chat/completions',
        say('"a \\"s\\u0065kret-\\u00c9t\\u00e9\\" b"'),
      );
      expect(answer.status).toBe(200);
      expect(house.heard()).toEqual([say(`"a \\"${hidden}\\" b"`)]);
      expect(await verdictsOf(answer)).toEqual([
        'tried/open rewrite',
        'tried/closed abstain',
        'tried/second abstain',
        'tried/lanes abstain',
      ]);
      const shown = JSON.parse(String(house.said('a request').at(-1)?.request)) as {
        texts: { text: string }[];
      };
      expect(shown.texts[0]?.text).toBe('a "“hidden” \\ 🙂" b');
    },
  );

  test('that a route would not take is a bad verdict', async () => {
    const body = { model: 'one', prompt: '[[closed:empty]]' };
    const answer = await house.post('/v1/completions', body);
    expect(answer.status).toBe(503);
    expect(await verdictsOf(answer)).toEqual(['tried/open abstain', 'tried/closed failed']);
  });

  test('is held and charged as what was sent', async () => {
    house.supplier.answer = ({ body }) => {
      const [message] = (JSON.parse(body) as { messages: { content: string }[] }).messages;
      const tokens = message!.content.length;
      return {
        body: {
          ...answers.chat,
          usage: { prompt_tokens: tokens, completion_tokens: 2, total_tokens: tokens + 2 },
        },
      };
    };
    const answer = await house.post(
      '/v1/chat/completions',
      chat(`[[open:rewrite]] sekret-${'x'.repeat(4_000)}`),
    );
    const [body] = house.heard();
    const [message] = (JSON.parse(body!) as { messages: { content: string }[] }).messages;
    expect(message?.content).toBe('[[open:rewrite]] “hidden” \\ 🙂');
    // A dollar a million tokens in, two out.
    const cost = message!.content.length * 1_000 + 2 * 2_000;
    expect(await house.recordOf(answer)).toMatchObject({ cost_nano: String(cost) });
  });

  test('is estimated as what was sent where the supplier reports nothing', async () => {
    const { usage: _usage, ...unreported } = answers.chat;
    house.supplier.answer = { body: unreported };
    const long = await house.post(
      '/v1/chat/completions',
      chat(`[[open:rewrite]] sekret-${'x'.repeat(40_000)}`),
    );
    const short = await house.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-x'));
    const [one, other] = [await house.recordOf(long), await house.recordOf(short)];
    expect(one?.usage_source).toBe('estimated');
    expect(one?.input_tokens).toBe(other?.input_tokens);
  });

  test('leaves a repeated request what its caller sent', async () => {
    const headers = { 'idempotency-key': 'a-rewritten-one' };
    const first = await house.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-a'), headers);
    const again = await house.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-a'), headers);
    expect(await again.text()).toBe(await first.text());
    expect(house.heard()).toHaveLength(1);
    const other = await house.post('/v1/chat/completions', chat('[[open:rewrite]] sekret-b'), headers);
    expect(other.status).toBe(409);
  });

  test('reaches every text of the messages dialect; signed thinking is left out, and arguments stay an object', async () => {
    house.supplier.answer = { body: answers.messages };
    const secret = 'sekret-1';
    const body = (word: string, isRewritten: boolean) => ({
      model: 'spoken',
      max_tokens: 10,
      system: [{ type: 'text', text: word, cache_control: { type: 'ephemeral' } }],
      tools: [
        {
          name: 'look',
          description: word,
          input_schema: {
            type: 'object',
            properties: { title: { type: 'string', description: word, enum: [word] } },
          },
        },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', title: word, source: { type: 'text', media_type: 'text/plain', data: word } },
          ],
        },
        {
          role: 'assistant',
          content: [
            ...(isRewritten ? [] : [{ type: 'thinking', thinking: word, signature: 'c2ln' }]),
            { type: 'text', text: word },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { title: word, deep: [{ n: 1 }] } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: word }] },
            { type: 'text', text: '[[open:rewrite]]' },
          ],
        },
      ],
    });
    const answer = await house.post('/v1/messages', body(secret, false));
    expect(answer.status).toBe(200);
    const [sent] = house.heard();
    expect(sent).not.toContain(secret);
    expect(JSON.parse(sent!)).toEqual(body('“hidden” \\ 🙂', true));
  });

  test('of arguments that would be no object is a bad verdict', async () => {
    const answer = await house.post('/v1/messages', {
      model: 'spoken',
      max_tokens: 10,
      messages: [
        { role: 'user', content: '[[closed:arguments]]' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'b' }] },
      ],
    });
    expect(answer.status).toBe(503);
  });
});

test('a streamed request is rewritten and refused alike', async () => {
  const [first, last] = [
    {
      ...answers.chat,
      object: 'chat.completion.chunk',
      usage: undefined,
      choices: [{ index: 0, delta: { content: 'Good.' } }],
    },
    {
      ...answers.chat,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    },
  ];
  house.supplier.answer = {
    headers: { 'content-type': 'text/event-stream' },
    body: `data: ${JSON.stringify(first)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`,
  };
  const answer = await house.post(
    '/v1/chat/completions',
    chat('sekret-1 [[open:rewrite]]', { stream: true }),
  );
  expect(await answer.text()).toContain('Good.');
  const [sent] = house.heard();
  expect((JSON.parse(sent!) as { messages: object[] }).messages).toEqual([
    { role: 'user', content: '“hidden” \\ 🙂 [[open:rewrite]]' },
  ]);
  expect((await verdictsOf(answer)) as string[]).toContain('tried/open rewrite');
});

test('embeddings are rewritten, and responses with what they refer to', async () => {
  house.supplier.answer = {
    body: { ...answers.embeddings, data: [0, 1].map((index) => ({ ...answers.embeddings.data[0], index })) },
  };
  const vectors = await house.post('/v1/embeddings', {
    model: 'vectors',
    input: ['sekret-1', '[[open:rewrite]]'],
  });
  expect(vectors.status).toBe(200);
  expect(JSON.parse(house.heard()[0]!)).toMatchObject({ input: ['“hidden” \\ 🙂', '[[open:rewrite]]'] });
  house.supplier.answer = { body: answers.chat };
  const first = await house.post('/v1/responses', { model: 'one', input: 'sekret-1' });
  const { id } = (await first.json()) as { id: string };
  house.heard();
  // The text of the first turn was sent as it was; the gate sees it again in the second.
  await house.post('/v1/responses', { model: 'one', input: '[[open:rewrite]]', previous_response_id: id });
  expect(house.heard()[0]).not.toContain('sekret');
});

test('the web chat passes the gates', async () => {
  const client = new ChatClient(house.app);
  const record = await house.recordOf(await house.post('/v1/chat/completions', chat('Hello')));
  const userId = Number(record?.user_id);
  const person = { userId, cookie: await signIn(house.app, userId) };
  const { id } = JSON.parse((await client.post('/api/conversations', person, { model: 'one' })).body) as {
    id: string;
  };
  house.heard();
  const refused = await client.post(`/api/chat/${id}`, person, { content: '[[closed:reject]]' });
  expect(refused.body).toContain('request_rejected');
  expect(house.heard()).toEqual([]);
});

test('metrics count verdicts by gate, stage and verdict', async () => {
  const { Metrics } = await import('#product/platform');
  const text = await house.app.application.get(Metrics, { strict: false }).registry.metrics();
  expect(text).toMatch(
    /gateway_gate_verdicts_total\{gate="tried\/closed",stage="request",verdict="reject"\} \d/,
  );
  expect(text).toMatch(/gateway_gate_duration_seconds_count\{gate="tried\/closed",stage="request"\} \d/);
});

test.each<['en' | 'de' | 'fr', RegExp]>([
  ['en', /Gates.*tried\/open: rewritten \([\d.]+.ms\).*tried\/closed: refused \([\d.]+.ms\)/s],
  ['de', /Gates.*tried\/open: umgeschrieben \([\d,]+.ms\).*tried\/closed: abgelehnt \([\d,]+.ms\)/s],
  ['fr', /Filtres.*tried\/open: réécrite \(.*tried\/closed: refusée \(/s],
])('the page of a request in %s names the gates, their verdicts and times', async (locale, expected) => {
  const answer = await house.post(
    '/v1/chat/completions',
    chat('sekret-1 [[open:rewrite]] [[closed:reject]]'),
  );
  const record = await house.recordOf(answer);
  const userId = Number(record?.user_id);
  await house.app.database.source.getRepository(UserAccount).update(userId, { preferredLanguage: locale });
  const page = await fetch(
    `${house.app.url}/dashboard/request-log?request_id=${String(record?.request_id)}`,
    { headers: { cookie: await signIn(house.app, userId), accept: 'text/html' } },
  );
  expect(await page.text()).toMatch(expected);
});
