import { BrokenAnswer } from '../../../../../src/platform/supplier-http';
import { brokenStatusLines, chunks, contents, headers, lengths } from '../../../../support/broken-responses';
import { answer, call, closeEverything, get, openPools } from './raw-supplier';
import { everyByte, Reader } from './read-answer';

afterEach(closeEverything);

const statusLine = 'HTTP/1.1 200 OK\r\n';
const chunked = `${statusLine}transfer-encoding: chunked\r\n\r\n`;
const emptyBodyHead = 'content-length: 0\r\n\r\n';
const continueResponse = 'HTTP/1.1 100 Continue\r\n\r\n';
const MAX_HEAD_BYTES = 16 * 1024;

/** Returns a head of the given size, its end not counted. */
const headOf = (size: number): string => {
  const start = `${statusLine}content-length: 0\r\nx-a: `;
  return `${start}${'a'.repeat(size - start.length)}\r\n\r\n`;
};

/** Expects the same error from every way to split the text and from a complete call. */
async function expectBroken(text: string): Promise<void> {
  const bytes = Buffer.from(text, 'latin1');
  for (const ends of [[bytes.length], everyByte(bytes.length)]) {
    const reader = new Reader();
    reader.expectResponse();
    expect(() => reader.readInPieces(bytes, ends)).toThrow(BrokenAnswer);
  }
  const { port } = await answer(({ socket }) => socket.write(bytes));
  expect(await call(openPools(), get(port)).outcome).toMatchObject({
    error: { code: 'SUPPLIER_BROKEN_ANSWER' },
    ends: 1,
  });
}

function expectComplete(text: string): void {
  const bytes = Buffer.from(text, 'latin1');
  for (const ends of [[bytes.length], everyByte(bytes.length)]) {
    const reader = new Reader();
    reader.expectResponse();
    expect(reader.readInPieces(bytes, ends)).toBe(true);
  }
}

describe('Response start', () => {
  test.each(brokenStatusLines)('is invalid: %s', (_, text) => expectBroken(text));

  test('rejects lines with other line endings', () => {
    const reader = new Reader();
    const recorder = reader.expectResponse();
    expect(reader.read('HTTP/1.1 200 OK\ncontent-length: 0\n\n')).toBe(false);
    expect(recorder.heads).toBe(0);
    expect(reader.parser.close()).toBe(false);
  });

  test('accepts the maximum number of informational responses', () =>
    expectComplete(`${continueResponse.repeat(16)}${statusLine}${emptyBodyHead}`));
});

describe('Response header', () => {
  test.each(headers)('is invalid: %s', async (_, header) => {
    await expectBroken(`${statusLine}${header}\r\n${emptyBodyHead}`);
    await expectBroken(`HTTP/1.1 103 Early\r\n${header}\r\n\r\n`);
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'is rejected as harmful (%s)',
    (name) => {
      const reader = new Reader();
      const recorder = reader.expectResponse();
      expect(
        reader.read(`${statusLine}${name}: 1\r\n${name}: {"status": 1}\r\nx-a: b\r\n${emptyBodyHead}`),
      ).toBe(true);
      expect(recorder.headers).toMatchObject({ 'x-a': 'b', 'content-length': '0' });
      expect(Object.getPrototypeOf(recorder.headers)).toBe(Object.prototype);
      expect(({} as Record<string, unknown>)['status']).toBeUndefined();
    },
  );
});

describe('Response head size', () => {
  test('is limited', async () => {
    await expectBroken(headOf(MAX_HEAD_BYTES + 1));
    await expectBroken(`${statusLine}x-a: ${'a'.repeat(MAX_HEAD_BYTES)}`);
    await expectBroken(`${continueResponse}${headOf(MAX_HEAD_BYTES + 1)}`);
  });

  test('can reach the maximum', () => expectComplete(headOf(MAX_HEAD_BYTES)));

  test('excludes surrounding bytes', () => {
    expectComplete(continueResponse + headOf(MAX_HEAD_BYTES - 3));
    const reader = new Reader();
    reader.expectResponse();
    expect(reader.read(`${statusLine}content-length: 30000\r\n\r\n${'a'.repeat(30_000)}`)).toBe(true);
  });
});

describe('Response length', () => {
  test.each(lengths)('is invalid: %s', (_, header) =>
    expectBroken(`${statusLine}${header}\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`),
  );

  test('is accepted when stated twice with the same value', () =>
    expectComplete(`${statusLine}content-length: 5\r\nContent-Length: 5\r\n\r\nabcde`));
});

describe('Response chunk', () => {
  test.each(chunks)('is invalid: %s', (_, body) => expectBroken(`${chunked}${body}`));

  test('accepts an extension on every chunk', () =>
    expectComplete(`${chunked}${`1;${'a'.repeat(200)}\r\nx\r\n`.repeat(20)}0\r\n\r\n`));

  test('accepts whitespace before an extension', () =>
    expectComplete(`${chunked}2 \t;a=b\r\nok\r\n0\r\n\r\n`));
});

describe('Content encoding', () => {
  test.each(contents)('is rejected: %s', (_, text) => expectBroken(text));

  test.each([
    ['with no content', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
    ['with no chunk', 'HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['that is not compressed', `${statusLine}Content-Encoding: Identity\r\n${emptyBodyHead}`],
  ])('accepts one %s', (_, text) => expectComplete(text));
});
