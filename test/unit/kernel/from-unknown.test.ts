import { QueryFailedError } from 'typeorm';
import { type ErrorCode, fault, fromUnknown, renderGateway } from '../../../src/kernel';

const withFields = (fields: object, message = 'broken'): Error => Object.assign(new Error(message), fields);

/** Exception of the framework, reduced to its two methods. */
const httpException = (status: number, response: unknown = {}, cause?: unknown): Error =>
  Object.assign(new Error('http', { cause }), { getStatus: () => status, getResponse: () => response });

test('fault is returned unchanged', () => {
  const thrownFault = fault('not_found');
  expect(fromUnknown(thrownFault)).toBe(thrownFault);
});

describe('Lost database connection', () => {
  test.each([
    ['connection failure', withFields({ code: '08006' })],
    ['connection does not exist', withFields({ code: '08003' })],
    ['administrator shutdown', withFields({ code: '57P01' })],
    ['crash', withFields({ code: '57P02' })],
    ['starting up', withFields({ code: '57P03' })],
    ['too many connections', withFields({ code: '53300' })],
    ['a statement that took too long', withFields({ code: '57014' })],
    ['a lock that took too long', withFields({ code: '55P03' })],
    ['refused', withFields({ code: 'ECONNREFUSED' })],
    ['reset', withFields({ code: 'ECONNRESET' })],
    ['timed out', withFields({ code: 'ETIMEDOUT' })],
    ['no descriptor left', withFields({ code: 'EMFILE' })],
    ['both addresses refused', Object.assign(new AggregateError([new Error()]), { code: 'ECONNREFUSED' })],
    ['terminated', new Error('Connection terminated unexpectedly')],
    ['terminated in the pool', new Error('Connection terminated due to connection timeout')],
    ['pool exhausted', new Error('timeout exceeded when trying to connect')],
    ['pool closed', new Error('Cannot use a pool after calling end on the pool')],
    ['wrapped by the mapper', new QueryFailedError('SELECT 1', [], withFields({ code: '57P01' }))],
    [
      'wrapped by the mapper, no code',
      new QueryFailedError('SELECT 1', [], new Error('Connection terminated')),
    ],
    ['kept in a field', { driverError: withFields({ code: '08001' }) }],
    ['as a cause', new Error('could not load', { cause: withFields({ code: '08001' }) })],
  ])('is temporary: %s', (_name, error) => {
    const result = fromUnknown(error);
    expect(result).toMatchObject({ code: 'service_unavailable', status: 503, cause: error });
    expect(renderGateway(result, 'x').headers['retry-after']).toBe('1');
  });

  test.each([
    ['unique violation', withFields({ code: '23505' })],
    ['syntax error', new QueryFailedError('SELEC', [], withFields({ code: '42601' }))],
    ['another text', new Error('The Connection terminated')],
  ])('is not assumed for %s', (_name, error) => {
    expect(fromUnknown(error)).toMatchObject({ code: 'internal_error', cause: error });
  });
});

test.each(['22021', '22P05'])('character that the database cannot store (%s) is a client error', (code) => {
  const error = new QueryFailedError('SELECT', [], withFields({ code }));
  expect(fromUnknown(error)).toMatchObject({ code: 'invalid_request', status: 400, cause: error });
});

describe('Unreadable bodies', () => {
  test.each<[string, ErrorCode]>([
    ['entity.too.large', 'request_too_large'],
    ['parameters.too.many', 'request_too_large'],
    ['entity.parse.failed', 'invalid_json'],
    ['encoding.unsupported', 'unsupported_media_type'],
    ['charset.unsupported', 'unsupported_media_type'],
    ['request.aborted', 'request_timeout'],
    ['request.size.invalid', 'invalid_request'],
  ])('%s is %s, bare or wrapped by the framework', (type, code) => {
    const error = withFields({ type, status: 400 });
    expect(fromUnknown(error)).toMatchObject({ code, cause: error });
    expect(fromUnknown(httpException(400, { message: 'x' }, error)).code).toBe(code);
  });
});

describe('Framework exceptions', () => {
  test.each<[number, ErrorCode]>([
    [400, 'validation_error'],
    [401, 'authentication_required'],
    [403, 'forbidden'],
    [404, 'not_found'],
    [405, 'method_not_allowed'],
    [413, 'request_too_large'],
    [415, 'unsupported_media_type'],
    [418, 'invalid_request'],
    [422, 'validation_error'],
    [429, 'rate_limit_exceeded'],
    [500, 'internal_error'],
    [503, 'service_unavailable'],
    [507, 'internal_error'],
  ])('%i is %s', (status, code) => {
    expect(fromUnknown(httpException(status)).code).toBe(code);
  });

  test('validation error keeps its details', () => {
    const issueOf = (msg: string) => ({ loc: ['body'], msg, type: 'value_error' });
    expect(
      fromUnknown(httpException(400, { message: ['a must be b', 'c must be d'] })).options.details,
    ).toEqual({
      errors: [issueOf('a must be b'), issueOf('c must be d')],
    });
    expect(fromUnknown(httpException(422, 'plain')).options.details).toEqual({ errors: [issueOf('plain')] });
    expect(fromUnknown(httpException(422, { message: [{ a: 1 }] })).options.details).toEqual({ errors: [] });
  });

  test('undecodable path is not reported as a list of values', () => {
    expect(fromUnknown(httpException(400, { message: 'x' }, new URIError('x'))).code).toBe('invalid_request');
  });

  test("supplier's refusal is never attributed to the client", () => {
    for (const error of [withFields({ status: 401 }), withFields({ statusCode: 403 }), { status: 402 }]) {
      expect(fromUnknown(error).code).toBe('internal_error');
    }
  });
});

describe('Unknown errors', () => {
  const revokedProxy = Proxy.revocable({}, {});
  revokedProxy.revoke();
  const circularError = new Error('loop');
  circularError.cause = circularError;
  const throwingGetter = (name: string): object =>
    Object.defineProperty({}, name, {
      get() {
        throw new Error('no');
      },
    });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'boom'],
    ['a number', 7],
    ['a symbol', Symbol('x')],
    ['a bigint', 7n],
    ['a function', () => 1],
    ['an object', { message: 'x' }],
    ['an object without a prototype', Object.create(null)],
    ['an array', []],
    ['an error', new TypeError('x')],
    ['an error that causes itself', circularError],
    ['a revoked proxy', revokedProxy.proxy],
    ['a throwing code', throwingGetter('code')],
    ['a throwing type', throwingGetter('type')],
    ['a throwing cause', throwingGetter('cause')],
    ['a throwing getStatus', { getStatus: () => Number(Symbol()), getResponse: () => ({}) }],
    ['a status of nonsense', { getStatus: () => 'x', getResponse: () => ({}) }],
    ['a status that is no status', { getStatus: () => NaN, getResponse: () => ({}) }],
  ])('become an internal error with their cause: %s', (_name, error) => {
    const result = fromUnknown(error);
    expect(result.code).toBe('internal_error');
    expect(Object.is(result.cause, error)).toBe(true);
    expect(() => renderGateway(result, 'x')).not.toThrow();
  });

  test('become an internal error even with a polluted prototype', () => {
    const objectPrototype = Object.prototype as unknown as Record<string, unknown>;
    const pollution = {
      code: '08006',
      type: 'entity.too.large',
      message: 'Connection terminated',
      getStatus: 404,
    };
    try {
      Object.assign(objectPrototype, pollution);
      for (const error of [{}, [], new Error('x'), 'x', undefined]) {
        expect(fromUnknown(error).code).toBe('internal_error');
      }
    } finally {
      for (const name of Object.keys(pollution)) delete objectPrototype[name];
    }
  });
});
