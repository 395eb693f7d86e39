import { BrokenAnswer } from '../../../../../src/platform/supplier-http';
import { beginnings, chunks, contents, headers, lengths } from '../../../../support/broken-answers';
import { answer, call, closeEverything, get, openPools } from './raw-supplier';
import { everyByte, Reader } from './read-answer';

afterEach(closeEverything);

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const rest = 'content-length: 0\r\n\r\n';
const early = 'HTTP/1.1 100 Continue\r\n\r\n';
const MOST_HEAD_BYTES = 16 * 1024;

/** A head of so many bytes, its end not counted. */
const headOf = (size: number): string => {
  const start = `${ok}content-length: 0\r\nx-a: `;
  return `${start}${'a'.repeat(size - start.length)}\r\n\r\n`;
};

/** Every way to read it leads to the same end, and so does the whole way to a call. */
async function expectBroken(text: string): Promise<void> {
  const bytes = Buffer.from(text, 'latin1');
  for (const ends of [[bytes.length], everyByte(bytes.length)]) {
    const reader = new Reader();
    reader.expect();
    expect(() => reader.readInPieces(bytes, ends)).toThrow(BrokenAnswer);
  }
  const { port } = await answer(({ socket }) => socket.write(bytes));
  expect(await call(openPools(), get(port)).outcome).toMatchObject({
    error: { code: 'SUPPLIER_BROKEN_ANSWER' },
    ends: 1,
  });
}

function expectWhole(text: string): void {
  const bytes = Buffer.from(text, 'latin1');
  for (const ends of [[bytes.length], everyByte(bytes.length)]) {
    const reader = new Reader();
    reader.expect();
    expect(reader.readInPieces(bytes, ends)).toBe(true);
  }
}

describe('no answer begins with', () => {
  test.each(beginnings)('%s', (_, text) => expectBroken(text));

  test('lines that all end otherwise', () => {
    const reader = new Reader();
    const recorder = reader.expect();
    expect(reader.read('HTTP/1.1 200 OK\ncontent-length: 0\n\n')).toBe(false);
    expect(recorder.heads).toBe(0);
    expect(reader.parser.close()).toBe(false);
  });

  test('as many others as there may be is fine', () => expectWhole(`${early.repeat(16)}${ok}${rest}`));
});

describe('no answer has a header', () => {
  test.each(headers)('%s', async (_, header) => {
    await expectBroken(`${ok}${header}\r\n${rest}`);
    await expectBroken(`HTTP/1.1 103 Early\r\n${header}\r\n\r\n`);
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('that does harm (%s)', (name) => {
    const reader = new Reader();
    const recorder = reader.expect();
    expect(reader.read(`${ok}${name}: 1\r\n${name}: {"status": 1}\r\nx-a: b\r\n${rest}`)).toBe(true);
    expect(recorder.headers).toMatchObject({ 'x-a': 'b', 'content-length': '0' });
    expect(Object.getPrototypeOf(recorder.headers)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['status']).toBeUndefined();
  });
});

describe('the size of a head', () => {
  test('is bounded', async () => {
    await expectBroken(headOf(MOST_HEAD_BYTES + 1));
    await expectBroken(`${ok}x-a: ${'a'.repeat(MOST_HEAD_BYTES)}`);
    await expectBroken(`${early}${headOf(MOST_HEAD_BYTES + 1)}`);
  });

  test('may be as large as it can be', () => expectWhole(headOf(MOST_HEAD_BYTES)));

  test('does not count what stands around it', () => {
    expectWhole(early + headOf(MOST_HEAD_BYTES - 3));
    const reader = new Reader();
    reader.expect();
    expect(reader.read(`${ok}content-length: 30000\r\n\r\n${'a'.repeat(30_000)}`)).toBe(true);
  });
});

describe('no answer has a length', () => {
  test.each(lengths)('%s', (_, header) => expectBroken(`${ok}${header}\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`));

  test('the same length twice is fine', () =>
    expectWhole(`${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nabcde`));
});

describe('no answer has a chunk', () => {
  test.each(chunks)('%s', (_, body) => expectBroken(`${chunked}${body}`));

  test('every chunk may have an extension of its own', () =>
    expectWhole(`${chunked}${`1;${'a'.repeat(200)}\r\nx\r\n`.repeat(20)}0\r\n\r\n`));

  test('blanks may stand before an extension', () => expectWhole(`${chunked}2 \t;a=b\r\nok\r\n0\r\n\r\n`));
});

describe('no answer has content', () => {
  test.each(contents)('%s', (_, text) => expectBroken(text));

  test.each([
    ['with no content', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
    ['with no chunk', 'HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['that is not compressed', `${ok}Content-Encoding: Identity\r\n${rest}`],
  ])('one %s is fine', (_, text) => expectWhole(text));
});
