import type { ReceivedSpan } from '../../support/otlp-receiver';
import type { ScriptedResponse } from '../../support/scripted-supplier';
import {
  REPLY_TEXT,
  chatAnswer,
  failoverAnswer,
  spanNamed,
  openTelemetryFixture,
  type TelemetryFixture,
} from './telemetry-fixture';
import {
  createMember,
  createOrganisation,
  setContentSwitch,
  SWITCH,
  type TelemetryMember,
} from './telemetry-members';

const MAX_BYTES = 1_024;
const contents = {
  system: 'gen_ai.system_instructions',
  tools: 'gen_ai.tool.definitions',
  input: 'gen_ai.input.messages',
  output: 'gen_ai.output.messages',
} as const;
const TRUNCATED = 'switchboard.content.truncated';

const chat = (overrides: object = {}): object => ({
  model: 'pair',
  messages: [{ role: 'user', content: 'a question' }],
  ...overrides,
});

const contentOf = (span: ReceivedSpan) =>
  Object.fromEntries(
    Object.entries(contents).flatMap(([name, attribute]) => {
      const value = span.attributes[attribute];
      return value === undefined ? [] : [[name, JSON.parse(String(value)) as unknown]];
    }),
  );

const message = (role: string, ...parts: object[]) => ({ role, parts });
const text = (content: string) => ({ type: 'text', content });

const chunks = (...deltas: readonly object[]): ScriptedResponse => ({
  headers: { 'content-type': 'text/event-stream' },
  body: [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: chatAnswer.usage },
  ]
    .map((rest) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'first-model', ...rest }))
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .concat('data: [DONE]\n\n')
    .join(''),
});

describe.each(['http/protobuf', 'http/json'])('Content in %s', (protocol) => {
  let fixture: TelemetryFixture;
  let owner: TelemetryMember;
  let otherOwner: TelemetryMember;
  beforeAll(async () => {
    fixture = await openTelemetryFixture({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      TELEMETRY_CONTENT: 'organisations',
      TELEMETRY_CONTENT_BYTES: String(MAX_BYTES),
      EXTENSIONS: './test/fixtures/extensions/gates.cjs, ./test/fixtures/extensions/masking.cjs',
    });
    owner = await createMember(fixture, await createOrganisation(fixture));
    otherOwner = await createMember(fixture, await createOrganisation(fixture));
  });
  afterAll(() => fixture.close());
  afterEach(() => expect(fixture.receiver.faults).toEqual([]));

  const spansFor = async (caller: TelemetryMember, body: object, path = '/v1/chat/completions') => {
    const { answer, text: got, spans } = await fixture.traced(path, body, caller.headers);
    expect([answer.status, got]).toEqual([200, got]);
    return { got, spans };
  };

  test("is not exported until the organisation's owner enables it, and never for another organisation", async () => {
    fixture.supplier.answer = { body: chatAnswer };
    const spansBefore = await spansFor(owner, chat());
    expect(contentOf(spanNamed(spansBefore.spans, 'chat first-model'))).toEqual({});
    expect(await setContentSwitch(owner, true)).toEqual([200, true]);
    const { spans } = await spansFor(owner, chat());
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({
      input: [message('user', text('a question'))],
      output: [message('assistant', text(REPLY_TEXT))],
    });
    expect(spanNamed(spans, 'chat first-model').attributes).not.toHaveProperty([TRUNCATED]);
    expect(contentOf(spanNamed(spans, 'POST /v1/chat/completions'))).toEqual({});
    const otherSpans = await spansFor(otherOwner, chat());
    expect(contentOf(spanNamed(otherSpans.spans, 'chat first-model'))).toEqual({});
  });

  test('has the input on every attempt and the output on the last one', async () => {
    fixture.supplier.answer = failoverAnswer;
    const { spans } = await spansFor(owner, chat({ stream: true }));
    const input = [message('user', text('a question'))];
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({ input });
    expect(contentOf(spanNamed(spans, 'chat second-model'))).toEqual({
      input,
      output: [message('assistant', text(REPLY_TEXT))],
    });
    const [first, second] = [spanNamed(spans, 'chat first-model'), spanNamed(spans, 'chat second-model')];
    expect(first.endNano <= second.startNano + 1_000_000n).toBe(true);
  });

  test('is exported with the masks of gates applied', async () => {
    fixture.supplier.answer = chunks({ content: 'write to ann@exam' }, { content: 'ple.com today' });
    const { got, spans } = await spansFor(
      owner,
      chat({
        stream: true,
        metadata: { tags: ['mail'] },
        messages: [{ role: 'user', content: '[[open:rewrite]] of sekret-42' }],
      }),
    );
    expect(fixture.takeSupplierBodies().at(-1)).not.toContain('sekret-42');
    expect(got).not.toContain('ann@example.com');
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({
      input: [message('user', text('[[open:rewrite]] of “hidden” \\ 🙂'))],
      output: [message('assistant', text('write to [e-mail] today'))],
    });
    expect(fixture.receiver.text).not.toContain('sekret-42');
    expect(fixture.receiver.text).not.toContain('ann@example.com');
  });

  test('has separate parts for instructions, tools, tool calls and results, and names media without data', async () => {
    const picture = Buffer.alloc(300, 'P').toString('base64');
    fixture.supplier.answer = chunks(
      { reasoning_content: 'let me think' },
      {
        tool_calls: [{ index: 0, id: 'call_2', type: 'function', function: { name: 'add', arguments: '' } }],
      },
      { tool_calls: [{ index: 0, function: { arguments: '{"a":3,' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '"b":4}' } }] },
    );
    const parameters = { type: 'object', properties: { a: { type: 'number' } } };
    const { spans } = await spansFor(
      owner,
      chat({
        stream: true,
        tools: [{ type: 'function', function: { name: 'add', description: 'adds', parameters } }],
        messages: [
          { role: 'system', content: 'be brief' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
              { type: 'image_url', image_url: { url: 'https://example.com/p.png?signature=abc' } },
            ],
          },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '3' },
        ],
      }),
    );
    const attributes = spanNamed(spans, 'chat first-model').attributes;
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({
      tools: [{ type: 'function', name: 'add', description: 'adds', parameters }],
      input: [
        message('system', text('be brief')),
        message(
          'user',
          text('see'),
          { type: 'blob', modality: 'image', mime_type: 'image/png', content: '', size: 300 },
          { type: 'uri', modality: 'image', uri: '' },
        ),
        message('assistant', { type: 'tool_call', id: 'call_1', name: 'add', arguments: { a: 1 } }),
        message('tool', { type: 'tool_call_response', id: 'call_1', response: '3' }),
      ],
      output: [
        message(
          'assistant',
          { type: 'reasoning', content: 'let me think' },
          { type: 'tool_call', id: 'call_2', name: 'add', arguments: { a: 3, b: 4 } },
        ),
      ],
    });
    expect(attributes).not.toHaveProperty([TRUNCATED]);
    expect(fixture.receiver.text).not.toContain(picture);
    expect(fixture.receiver.text).not.toContain('signature=abc');
  });

  test('exports separate instructions separately from the conversation', async () => {
    fixture.supplier.answer = failoverAnswer;
    const { spans } = await spansFor(
      owner,
      { ...chat(), system: 'be brief', max_tokens: 64, stream: true },
      '/v1/messages',
    );
    expect(contentOf(spanNamed(spans, 'chat second-model'))).toEqual({
      system: [text('be brief')],
      input: [message('user', text('a question'))],
      output: [message('assistant', text(REPLY_TEXT))],
    });
  });

  test('keeps the newest part of oversized content and marks the span as truncated', async () => {
    const longText = 'ä'.repeat(MAX_BYTES);
    fixture.supplier.answer = { body: { ...chatAnswer, choices: [choice(`first ${longText}`)] } };
    const { spans } = await spansFor(
      owner,
      chat({
        messages: [
          { role: 'user', content: 'the oldest' },
          { role: 'assistant', content: longText },
          { role: 'user', content: 'the newest' },
        ],
      }),
    );
    const span = spanNamed(spans, 'chat first-model');
    for (const attribute of [contents.input, contents.output]) {
      const bytes = Buffer.byteLength(String(span.attributes[attribute]));
      expect([bytes <= MAX_BYTES, bytes > MAX_BYTES / 2]).toEqual([true, true]);
    }
    expect(span.attributes[TRUNCATED]).toEqual([contents.input, contents.output]);
    const { input, output } = contentOf(span) as Record<'input' | 'output', ReturnType<typeof message>[]>;
    expect(input?.map(({ role }) => role)).toEqual(['assistant', 'user']);
    expect(input?.at(-1)).toEqual(message('user', text('the newest')));
    expect(JSON.stringify(output)).toMatch(/first ä+…/);
  });

  test('truncates a stream as well', async () => {
    fixture.supplier.answer = chunks(...Array.from({ length: 50 }, () => ({ content: 'x'.repeat(100) })));
    const { got, spans } = await spansFor(owner, chat({ stream: true }));
    expect(got).toContain('[DONE]');
    const span = spanNamed(spans, 'chat first-model');
    expect(span.attributes[TRUNCATED]).toEqual([contents.output]);
    expect(String(span.attributes[contents.output]).length).toBeLessThanOrEqual(MAX_BYTES);
  });

  test('has one message per choice, and legacy completions have no turns', async () => {
    fixture.supplier.answer = { body: { ...chatAnswer, choices: [choice('one'), choice('two', 1)] } };
    const severalChoices = await spansFor(owner, chat({ n: 2 }));
    expect(contentOf(spanNamed(severalChoices.spans, 'chat first-model'))['output']).toEqual([
      message('assistant', text('one')),
      message('assistant', text('two')),
    ]);
    const { choices: _choices, ...rest } = chatAnswer;
    const answer = { index: 0, text: 'completed', finish_reason: 'stop', logprobs: null };
    fixture.supplier.answer = { body: { ...rest, object: 'text_completion', choices: [answer] } };
    const { spans } = await spansFor(owner, { model: 'pair', prompt: 'begin' }, '/v1/completions');
    expect(contentOf(spanNamed(spans, 'text_completion first-model'))).toEqual({
      input: [message('user', text('begin'))],
      output: [message('assistant', text('completed'))],
    });
  });

  test('is absent from the next call after it is disabled', async () => {
    fixture.supplier.answer = { body: chatAnswer };
    expect(await setContentSwitch(owner, false)).toEqual([200, false]);
    const { spans } = await spansFor(owner, chat());
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({});
  });
});

const choice = (content: string, index = 0) => ({
  index,
  message: { role: 'assistant', content },
  finish_reason: 'stop',
});

describe('Permission to enable content', () => {
  let fixture: TelemetryFixture;
  beforeAll(async () => {
    fixture = await openTelemetryFixture({
      TELEMETRY_CONTENT: 'organisations',
      TELEMETRY_CONVENTIONS: '1.41',
      OTEL_METRICS_EXPORTER: 'none',
    });
    fixture.supplier.answer = { body: chatAnswer };
  });
  afterAll(() => fixture.close());

  const exportedContent = async ({ headers }: TelemetryMember) => {
    const { spans } = await fixture.traced('/v1/chat/completions', chat(), headers);
    return contentOf(spanNamed(spans, 'chat first-model'));
  };

  test('is held by an owner for the complete organisation, whose members are informed', async () => {
    const organisation = await createOrganisation(fixture);
    const owner = await createMember(fixture, organisation);
    const [admin, plain] = [
      await createMember(fixture, organisation, 'org_admin'),
      await createMember(fixture, organisation, 'user'),
    ];
    for (const otherMember of [admin, plain]) {
      expect(await setContentSwitch(otherMember, true)).toEqual([403, 'permission_denied']);
      expect(await setContentSwitch(otherMember, true, SWITCH)).toEqual([409, 'conflict']);
      expect((await otherMember.browser.page('/dashboard/settings')).body).not.toContain('id="content"');
    }
    const page = await owner.browser.form(`${SWITCH}/organisation`, { enabled: 'true' });
    expect(page.status).toBe(303);
    // In 1.41, a message contains the finish reason.
    expect((await exportedContent(plain))['output']).toEqual([
      { role: 'assistant', parts: [text(REPLY_TEXT)], finish_reason: 'stop' },
    ]);
    const settingsPage = (await plain.browser.page('/dashboard/settings')).body;
    expect(settingsPage).toContain('Traces hold questions and answers.');
    expect(settingsPage).not.toContain(`${SWITCH}/organisation`);
    const [entry] = await fixture.app.database.query(
      `SELECT changes, actor_user_id, organisation_id FROM activity
        WHERE action = 'organisation.changed' AND object_id = $1`,
      [String(organisation)],
    );
    expect(entry).toEqual({
      changes: { telemetry_content: [false, true] },
      actor_user_id: owner.browser.userId,
      organisation_id: organisation,
    });
  });

  test('is held by a user without an organisation for their own keys', async () => {
    const [person, other] = [
      await createMember(fixture, null, 'user'),
      await createMember(fixture, null, 'user'),
    ];
    expect(await setContentSwitch(person, true)).toEqual([403, 'permission_denied']);
    expect(await setContentSwitch(person, true, SWITCH)).toEqual([200, true]);
    expect(await exportedContent(person)).toHaveProperty('output');
    expect(await exportedContent(other)).toEqual({});
    expect((await person.browser.page('/dashboard/settings')).body).toContain(`action="${SWITCH}"`);
  });

  test('does not override sampling', async () => {
    const person = await createMember(fixture, null, 'user');
    expect(await setContentSwitch(person, true, SWITCH)).toEqual([200, true]);
    const unsampledResponse = await fixture.post(
      '/v1/chat/completions',
      chat({ messages: [{ role: 'user', content: 'an unsampled question' }] }),
      { ...person.headers, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` },
    );
    await unsampledResponse.text();
    await exportedContent(person);
    expect(fixture.receiver.text).not.toContain('an unsampled question');
  });
});

describe("Content without the operator's permission", () => {
  let fixture: TelemetryFixture;
  beforeAll(async () => {
    fixture = await openTelemetryFixture();
  });
  afterAll(() => fixture.close());

  test('cannot be enabled, has no effect, and can be disabled', async () => {
    fixture.supplier.answer = { body: chatAnswer };
    const organisation = await createOrganisation(fixture);
    const owner = await createMember(fixture, organisation);
    expect(await setContentSwitch(owner, true)).toEqual([409, 'conflict']);
    expect((await owner.browser.page('/dashboard/settings')).body).not.toContain('id="content"');
    await fixture.app.database.query('UPDATE organisation SET telemetry_content = true WHERE id = $1', [
      organisation,
    ]);
    const { spans } = await fixture.traced('/v1/chat/completions', chat(), owner.headers);
    expect(contentOf(spanNamed(spans, 'chat first-model'))).toEqual({});
    expect((await owner.browser.page('/dashboard/settings')).body).toContain(
      'the operator does not allow it',
    );
    expect(await setContentSwitch(owner, false)).toEqual([200, false]);
  });
});
