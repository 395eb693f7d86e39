import {
  type FaultInit,
  catalogue,
  fault,
  renderGateway,
  renderMessages,
  renderPageModel,
  renderPortal,
  sseFault,
  validationFault,
} from '../../../src/kernel';

const id = '0195b2e0-0000-7000-8000-000000000001';
const allOptions: FaultInit = {
  message: 'The budget is spent.',
  param: 'max_tokens',
  details: { needed_usd: 1.5, exact: 12n },
  resetsAt: new Date('2026-12-01T00:00:00Z'),
};
const rateLimitMessage = 'Too many requests in a short time. Wait as long as the Retry-After header says.';

describe('Fault', () => {
  test('carries its code, status and texts', () => {
    const cause = new Error('inner');
    const modelFault = fault('model_not_found', { param: 'model', cause });
    expect(modelFault).toBeInstanceOf(Error);
    expect(modelFault).toMatchObject({ name: 'Fault', code: 'model_not_found', status: 404, cause });
    expect(modelFault.message).toBe(`model_not_found - ${modelFault.humanMessage}`);
    expect(fault('upstream_error', { message: 'Gone.', status: 504 })).toMatchObject({
      status: 504,
      humanMessage: 'Gone.',
      message: 'upstream_error - Gone.',
    });
  });

  test('captures a stack for internal errors only and keeps the stack trace limit', () => {
    const limit = Error.stackTraceLimit;
    expect(fault('invalid_api_key').stack).not.toContain('    at ');
    expect(fault('internal_error').stack).toContain('render.test');
    expect(Error.stackTraceLimit).toBe(limit);
  });

  test('names the parameter of its first validation issue', () => {
    const issues = [{ loc: ['body', 'items', 0, 'name'], msg: 'is missing', type: 'missing' }];
    expect(validationFault(issues).options).toEqual({ param: 'items.0.name', details: { errors: issues } });
    expect(validationFault([]).options).toEqual({ details: { errors: [] } });
  });
});

describe('Gateway error body', () => {
  test('has the specified shape with known fields only', () => {
    expect(renderGateway(fault('rate_limit_exceeded'), id)).toEqual({
      status: 429,
      headers: { 'x-request-id': id, 'request-id': id, 'retry-after': '1' },
      body: {
        error: {
          code: 'rate_limit_exceeded',
          type: 'rate_limit_error',
          message: `rate_limit_exceeded - ${rateLimitMessage}`,
          human_message: rateLimitMessage,
          param: null,
          request_id: id,
          retryable: true,
          action_class: 'B',
        },
      },
    });
  });

  test('contains every field', () => {
    expect(renderGateway(fault('budget_exceeded', allOptions), id)).toEqual({
      status: 402,
      headers: { 'x-request-id': id, 'request-id': id, 'x-should-retry': 'false' },
      body: {
        error: {
          code: 'budget_exceeded',
          type: 'billing_error',
          message: 'budget_exceeded - The budget is spent.',
          human_message: 'The budget is spent.',
          param: 'max_tokens',
          request_id: id,
          retryable: false,
          action_class: 'F',
          resets_at: '2026-12-01T00:00:00.000Z',
          details: { needed_usd: 1.5, exact: '12' },
        },
      },
    });
  });

  test('reports validation errors as 400', () => {
    expect(renderGateway(fault('validation_error'), id).status).toBe(400);
    expect(renderMessages(fault('validation_error'), id).status).toBe(400);
  });

  test('takes the type of an overridden status', () => {
    expect(renderGateway(fault('upstream_error', { status: 503 }), id)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      body: { error: { type: 'overloaded_error' } },
    });
  });

  test('omits details that JSON cannot represent', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    const { body } = renderGateway(fault('conflict', { details: loop, resetsAt: new Date(NaN) }), id);
    expect(JSON.parse(JSON.stringify(body)).error).not.toHaveProperty('details');
    expect(JSON.parse(JSON.stringify(body)).error).not.toHaveProperty('resets_at');
  });
});

describe('Error headers', () => {
  test.each([
    [0, '1'],
    [0.2, '1'],
    [1.01, '2'],
    [30, '30'],
    [-5, '1'],
    [NaN, '1'],
    [Infinity, '1'],
  ])('Retry-After of %p seconds is %p', (retryAfterSeconds, header) => {
    expect(renderGateway(fault('capacity_exceeded', { retryAfterSeconds }), id).headers['retry-after']).toBe(
      header,
    );
  });

  test('Retry-After is sent for retryable 429 and 503, and x-should-retry for non-retryable codes', () => {
    for (const [code, { status, retryable }] of catalogue) {
      const { headers } = renderGateway(fault(code), id);
      expect([code, headers['retry-after']]).toEqual([
        code,
        retryable && (status === 429 || status === 503) ? '1' : undefined,
      ]);
      expect([code, headers['x-should-retry']]).toEqual([code, retryable ? undefined : 'false']);
    }
  });
});

describe('Messages error body', () => {
  test('has the shape and vocabulary of the dialect', () => {
    expect(renderMessages(fault('invalid_api_key'), id)).toMatchObject({
      status: 401,
      headers: { 'request-id': id, 'x-should-retry': 'false' },
      body: {
        type: 'error',
        error: { type: 'authentication_error', code: 'invalid_api_key', request_id: id },
        request_id: id,
      },
    });
  });

  const vocabulary = [
    'invalid_request_error',
    'authentication_error',
    'billing_error',
    'permission_error',
    'not_found_error',
    'request_too_large',
    'rate_limit_error',
    'timeout_error',
    'api_error',
    'overloaded_error',
  ];

  test('maps every code to the vocabulary', () => {
    const bodies = [...catalogue.keys()].map((code) => renderMessages(fault(code), id).body);
    const types = bodies.map(
      (body) => (JSON.parse(JSON.stringify(body)) as { error: { type: string } }).error.type,
    );
    expect(new Set(types)).toEqual(new Set(vocabulary));
  });

  test.each([
    [{ message: 'prompt is too long: 250000 tokens > 200000 maximum' }],
    ['prompt is too long: 250000 tokens > 200000 maximum'],
  ])("supplier's message follows the separator in every dialect", (supplier) => {
    const text = 'Shorten it. prompt is too long: 250000 tokens > 200000 maximum';
    for (const renderError of [renderMessages, renderGateway]) {
      const { body } = renderError(
        fault('context_length_exceeded', { message: 'Shorten it.', details: { supplier } }),
        id,
      );
      expect(body).toMatchObject({
        error: { message: `context_length_exceeded - ${text}`, human_message: text, details: { supplier } },
      });
    }
  });

  // Issue: "Input is too long." (Bedrock) gets a prefix, so Claude Code's recovery does not start.
  test.each(['Input is too long.', 'Input is too long for requested model.'])(
    'starts a Messages error with %j, which Claude Code recognises',
    (message) => {
      const problem = fault('context_length_exceeded', { details: { supplier: { message } } });
      const { human_message: displayedMessage, ...error } = (
        renderMessages(problem, id).body as { error: Record<string, unknown> }
      ).error;
      expect(error).toMatchObject({
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message,
      });
      expect(displayedMessage).toMatch(/^Input and requested output together .* Input is too long/);
      expect(renderGateway(problem, id).body).toMatchObject({
        error: { message: expect.stringMatching(/^context_length_exceeded - /) as string },
      });
    },
  );

  test('ignores other details as messages', () => {
    for (const supplier of [null, 7, { message: 7 }, {}, '']) {
      const { body } = renderMessages(
        fault('context_length', { message: 'Shorten it.', details: { supplier } }),
        id,
      );
      expect(body).toMatchObject({ error: { message: 'context_length - Shorten it.' } });
    }
  });
});

describe('Portal error body', () => {
  test('contains the legacy fields and the new ones', () => {
    const humanMessage = catalogue.get('user_not_found')!.humanMessage;
    expect(renderPortal(fault('user_not_found'), id)).toEqual({
      status: 404,
      headers: { 'x-request-id': id, 'request-id': id, 'x-should-retry': 'false' },
      body: {
        error: humanMessage,
        detail: humanMessage,
        code: 'user_not_found',
        message: `user_not_found - ${humanMessage}`,
        human_message: humanMessage,
        param: null,
        request_id: id,
        retryable: false,
        action_class: 'R',
      },
    });
  });

  test('reports validation errors as 422 with a list', () => {
    const issues = [{ loc: ['query', 'days'], msg: 'must be a number', type: 'int_parsing' }];
    expect(renderPortal(validationFault(issues), id)).toMatchObject({
      status: 422,
      body: { detail: issues, code: 'validation_error', param: 'days' },
    });
    expect(renderPortal(fault('validation_error', { message: 'No.' }), id)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body'], msg: 'No.', type: 'value_error' }] },
    });
    const placeOf = (name: string) => (name === 'cursor' ? 'query' : 'body');
    const refusals = [
      fault('invalid_request', { param: 'cursor', message: 'No.' }),
      fault('unsupported_parameter', { param: 'items.0.name', message: 'No.' }),
      fault('missing_fields', { message: 'No.', details: { required: ['name', 'or another one'] } }),
      fault('invalid_json', { message: 'No.' }),
    ];
    expect(refusals.map((refusal) => renderPortal(refusal, id, placeOf))).toMatchObject(
      [
        { loc: ['query', 'cursor'], msg: 'No.', type: 'value_error' },
        { loc: ['body', 'items', 0, 'name'], msg: 'No.', type: 'whitelistValidation' },
        { loc: ['body', 'name'], msg: 'No.', type: 'missing' },
        { loc: ['body'], msg: 'No.', type: 'json' },
      ].map((issue) => ({ status: 422, body: { code: 'validation_error', detail: [issue] } })),
    );
    // A message that is not about a parameter is unchanged.
    expect(renderPortal(fault('invalid_request', { message: 'No.' }), id)).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', detail: 'No.' },
    });
    expect(renderPortal(fault('validation_error', { status: 400 }), id).status).toBe(400);
  });

  test('page gets a plain view model', () => {
    expect(renderPageModel(fault('service_unavailable', { retryAfterSeconds: 5 }), id)).toEqual({
      status: 503,
      code: 'service_unavailable',
      humanMessage: 'The service cannot handle this request right now. Try again shortly.',
      action: catalogue.get('service_unavailable')!.action,
      retryable: true,
      retryAfterSeconds: 5,
      resetsAt: null,
      requestId: id,
      headers: { 'x-request-id': id, 'request-id': id, 'retry-after': '5' },
    });
    expect(renderPageModel(fault('validation_error'), id)).toMatchObject({
      status: 422,
      retryAfterSeconds: null,
    });
  });
});

describe('Stream error event', () => {
  const interruptedFault = fault('stream_interrupted', { message: 'It\nbroke.' });
  const dataOf = (text: string): unknown => JSON.parse(/^data: (.*)$/m.exec(text)![1]!);

  test('Chat Completions stream error is the error object without [DONE]', () => {
    const text = sseFault('chat', interruptedFault, id);
    expect(text).toMatch(/^data: [^\n]*\n\n$/);
    expect(text).not.toContain('[DONE]');
    expect(dataOf(text)).toEqual(renderGateway(interruptedFault, id).body);
  });

  test('Messages stream error is an error event', () => {
    const text = sseFault('messages', interruptedFault, id);
    expect(text).toMatch(/^event: error\ndata: [^\n]*\n\n$/);
    expect(dataOf(text)).toEqual(renderMessages(interruptedFault, id).body);
  });
});
