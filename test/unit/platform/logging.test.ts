import fc from 'fast-check';
import { Logger, NestLogger, redact } from '../../../src/platform/logging';

const key = 'svc_Ab12Cd34' + 'x'.repeat(43) + 'aB3dE6';

function captureLog(logFormat: 'json' | 'pretty' = 'json', logLevel: 'debug' | 'warn' = 'debug') {
  const lines: string[] = [];
  const logger = Logger.create({ logLevel, logFormat }, { write: (line: string) => lines.push(line) });
  const entries = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, lines, entries };
}

test('entry is a JSON line with time, level, message and fields', () => {
  const { logger, lines, entries } = captureLog();
  logger.child({ request_id: 'r-1' }).info('settled', { tokens_in: 12, key_id: 7 });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\{[^\n]*\}\n$/);
  expect(entries()[0]).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    request_id: 'r-1',
    msg: 'settled',
    tokens_in: 12,
    key_id: 7,
  });
});

test('entries below the level are not written', () => {
  const { logger, lines } = captureLog('json', 'warn');
  logger.debug('a');
  logger.info('b');
  logger.child({}).info('c');
  expect(lines).toEqual([]);
  logger.warn('d');
  logger.error('e');
  logger.fatal('f');
  expect(lines).toHaveLength(3);
});

describe('Repeated failure', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** Creates an error with the same stack position in every test. */
  const errorAt = (file: number): Error => {
    const message = `could not extend file "base/${file}"`;
    const stack = `Error: ${message}\n    at extend (disk.ts:7:3)`;
    return Object.assign(new Error(message), { code: '53100', stack });
  };
  const logError = (logger: Logger, file: number): void =>
    logger.error(`job ${file} failed`, { error: errorAt(file), context: 'Jobs', job: file });

  test('is logged once with its stack and then counted until it stops', () => {
    const { logger, entries } = captureLog();
    for (let file = 0; file < 413; file += 1) logError(logger.child({ node: file }), file);
    expect(entries()).toMatchObject([
      { msg: 'job 0 failed', error: { stack: expect.any(String) as string } },
    ]);
    jest.advanceTimersByTime(10_000);
    expect(entries()).toHaveLength(2);
    expect(entries()[1]).toEqual({
      level: 'error',
      time: expect.any(String) as string,
      context: 'Jobs',
      msg: 'job 0 failed: repeated 412 times in the last 10 s',
      repeated: 412,
      error: { type: 'Error', code: '53100', message: 'could not extend file "base/0"' },
    });
    logError(logger, 7);
    jest.advanceTimersByTime(10_000);
    expect(entries()[2]).toMatchObject({ repeated: 1 });
    jest.advanceTimersByTime(10_000);
    expect(entries()).toHaveLength(3);
    logError(logger, 8);
    expect(entries()[3]).toMatchObject({
      msg: 'job 8 failed',
      error: { stack: expect.any(String) as string },
    });
  });

  test('does not suppress other failures or entries without a stack', () => {
    const { logger, lines } = captureLog();
    const otherError = (message: string): Error => new Error(message);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      logError(logger, attempt);
      logger.warn('job 1 failed', { error: errorAt(1), context: 'Jobs' });
      logger.error('job 1 failed', { error: otherError('another reason'), context: 'Jobs' });
      logger.error('job 1 failed', { error: errorAt(1), context: 'Others' });
      logger.error('no stack', { status: 503 });
      logger.fatal('the end', { error: otherError('the end') });
    }
    expect(lines).toHaveLength(4 + 3 + 3);
  });

  test('is reported separately per part of an extension', () => {
    const { logger, entries } = captureLog();
    const error = errorAt(1);
    const parts = [{ extension: 'one', job: 'one/a' }, { extension: 'one', job: 'one/b' }, { gate: 'two/a' }];
    for (const part of [...parts, ...parts]) logger.error('a part failed', { ...part, error });
    expect(entries()).toMatchObject(parts);
    jest.advanceTimersByTime(10_000);
    expect(entries().slice(parts.length)).toMatchObject(parts.map((part) => ({ ...part, repeated: 1 })));
  });

  test('is summarised when the process ends, within a limit of tracked failures', () => {
    const { logger, entries } = captureLog();
    for (let kind = 0; kind < 500; kind += 1) {
      const error = errorAt(1);
      const character = String.fromCodePoint(0x4e00 + kind);
      logger.error(character, { error });
      logger.error(character, { error });
    }
    expect(entries().filter(({ repeated }) => repeated === 1)).toHaveLength(300);
    logger.flush();
    expect(entries().filter(({ repeated }) => repeated === 1)).toHaveLength(500);
    logger.flush();
    expect(entries()).toHaveLength(1_000);
  });
});

test.each([
  'authorization',
  'Authorization',
  'x-api-key',
  'cookie',
  'Set-Cookie',
  'apiKey',
  'apikey',
  'api_key',
  'secret',
  'clientSecret',
  'SESSION_SECRET',
  'secret_value',
  'access_token',
  'refreshToken',
  'tokens',
  'password',
  'newPassword',
  'key',
  'masterKey',
  'keyPepper',
  'credentials',
])('value named %s is never written', (name) => {
  const { logger, lines } = captureLog();
  logger.info('x', { [name]: 'canary-1', deep: [{ headers: { [name]: ['canary-2'] } }] });
  logger.info('x', { [name]: { inner: 'canary-3' } });
  expect(lines.join('')).not.toContain('canary');
});

test.each(['key_id', 'tokens_in', 'keyName', 'tokenizer', 'monkey', 'keyboard'])(
  '%s is written without error',
  (name) => {
    expect(redact({ [name]: 'plain' })).toEqual({ [name]: 'plain' });
  },
);

test('counts are written under any name', () => {
  expect(redact({ tokens: 7, token: null, key: true })).toEqual({ tokens: 7, token: null, key: true });
});

const contentNames = ['prompt', 'messages', 'body', 'rawBody', 'input', 'content', 'instructions'];

test.each([...contentNames, 'supplier', 'parameters', 'detail'])(
  'customer content (%s) is never written',
  (name) => {
    const { logger, lines } = captureLog();
    logger.info('x', { request: { [name]: 'canary' }, [name]: [{ text: 'canary' }] });
    expect(lines.join('')).not.toContain('canary');
  },
);

test.each([
  ['our keys', key],
  ['supplier keys', 'sk-proj-abcdefghijkl0123456789'],
  ['processor keys', 'sk_live_abcdefghijkl0123'],
  ['bearer values', 'Bearer abc.def.ghi'],
  ['basic credentials', 'Basic dXNlcjpwYXNz'],
  ['passwords in addresses', 'postgres://app:hunter22@db'],
])('%s are redacted wherever they appear', (_, secret) => {
  const secretText =
    secret
      .split(/[\s_-]/)
      .at(-1)
      ?.replace(/@db$/, '')
      .split(':')
      .at(-1) ?? '';
  for (const format of ['json', 'pretty'] as const) {
    const { logger, lines } = captureLog(format);
    const error = new Error(`refused: ${secret}`, { cause: new Error(`because ${secret}`) });
    Object.assign(error, { options: { note: secret } });
    logger.error(`failed with ${secret}!`, { error, deep: { list: [`(${secret})`] }, url: `/x?q=${secret}` });
    new NestLogger(logger).error(`failed ${secret}`, error.stack, 'Context');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain(secretText);
    expect(lines.join('')).toContain('[redacted]');
  }
});

test.each(['canary', '{"a": canary}', '[1,2,canary]x'.repeat(20), '"canary', '{"a":"canary"}x'])(
  'text that could not be parsed (%s) is not quoted',
  (text) => {
    const { logger, lines } = captureLog();
    try {
      JSON.parse(text);
    } catch (error) {
      logger.error('broken', { error: new Error('no JSON', { cause: error }) });
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('JSON');
    expect(lines[0]).not.toContain('canary');
  },
);

test('masked key stays readable', () => {
  expect(redact({ note: 'svc_ab12…9f' })).toEqual({ note: 'svc_ab12…9f' });
});

test('error keeps its kind, message, stack and cause', () => {
  const { logger, entries } = captureLog();
  logger.error('broken', { error: new TypeError('no', { cause: new Error('why') }) });
  expect(entries()[0]?.['error']).toMatchObject({
    type: 'TypeError',
    message: 'no',
    stack: expect.stringContaining('at '),
    cause: { message: 'why' },
  });
});

test('cyclic values and huge texts are handled', () => {
  const { logger, lines } = captureLog();
  const cyclicValue: Record<string, unknown> = { big: 'x'.repeat(100_000) };
  cyclicValue['self'] = cyclicValue;
  logger.info('x', { cyclic: cyclicValue });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.length).toBeLessThan(10_000);
});

test('value cannot start a new line in either format', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\n', '\r', '\u2028', '\u001b[2J', '\u009b'),
      (text, bad) => {
        for (const format of ['json', 'pretty'] as const) {
          const { logger, lines } = captureLog(format);
          const value = `${text}${bad}12:00:00.000 INFO forged`;
          logger.info(value, {
            [value]: value,
            note: { deep: value },
            error: Object.assign(new Error(value)),
          });
          const output = lines.join('');
          const logLines = output.split('\n').filter((line) => line !== '' && !line.startsWith('    at '));
          expect(logLines).toHaveLength(1);
          if (format === 'pretty') expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('pretty format shows message, fields and stack frames', () => {
  const { logger, lines } = captureLog('pretty');
  logger.warn('slow', { ms: 842 });
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}slow ms=842\n$/);
  logger.error('broken', { error: new Error('why\nnot') });
  expect(lines[1]).toMatch(/ERROR broken error=.*why\\nnot.*\n {4}at /);
});

test('Nest log lines contain their context', () => {
  const { logger, entries } = captureLog();
  const nest = new NestLogger(logger);
  nest.log('Mapped', 'Router');
  nest.warn('careful');
  nest.debug({ a: 1 }, 'Ctx');
  nest.verbose('more');
  nest.fatal(new Error('gone'), 'Boot');
  expect(entries()).toMatchObject([
    { level: 'info', msg: 'Mapped', context: 'Router' },
    { level: 'warn', msg: 'careful' },
    { level: 'debug', msg: '{"a":1}', context: 'Ctx' },
    { level: 'debug', msg: 'more' },
    { level: 'fatal', msg: 'gone', context: 'Boot', error: { message: 'gone' } },
  ]);
});

test.each(['RouterExplorer', '_RouterExplorer'])(
  'route log lines are omitted in production, also when a bundle renames the class to %s',
  (name) => {
    const { logger, entries } = captureLog();
    new NestLogger(logger).log('Mapped {/v1/models, GET} route', name);
    expect(entries()).toMatchObject([{ level: 'debug', context: 'RouterExplorer' }]);
  },
);
