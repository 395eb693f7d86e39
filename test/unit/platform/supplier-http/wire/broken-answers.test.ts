import { BrokenAnswer } from '../../../../../src/platform/supplier-http';
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
  test.each([
    ['nothing', '\r\n\r\n'],
    ['an empty line', `\r\n${ok}${rest}`],
    ['a header', `content-length: 0\r\n\r\n`],
    ['another protocol', `ICY 200 OK\r\n${rest}`],
    ['a newer version', `HTTP/2.0 200 OK\r\n${rest}`],
    ['a version of the past', `HTTP/0.9 200 OK\r\n${rest}`],
    ['a version in small letters', `http/1.1 200 OK\r\n${rest}`],
    ['a status that is none', `HTTP/1.1 099 OK\r\n${rest}`],
    ['a status in letters', `HTTP/1.1 ten OK\r\n${rest}`],
    ['a status of four digits', `HTTP/1.1 2000 OK\r\n${rest}`],
    ['a status without the space behind it', `HTTP/1.1 200\r\n${rest}`],
    ['a status behind two spaces', `HTTP/1.1  200 OK\r\n${rest}`],
    ['a control character in its reason', `HTTP/1.1 200 O\0K\r\n${rest}`],
    ['a change of the protocol', `HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n`],
    ['lines that end otherwise', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n'],
    ['too many others', early.repeat(17)],
  ])('%s', (_, text) => expectBroken(text));

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
  test.each([
    ['without a colon', 'x-a'],
    ['without a name', ': a'],
    ['with a space before its colon', 'x-a : a'],
    ['with a space in its name', 'x a: a'],
    ['with a name beyond ASCII', 'x-\xe4: a'],
    ['on two lines', 'x-a: a\r\n b'],
    ['on two lines, the second like one of its own', 'x-a: a\r\n\tx-b: b'],
    ['with a zero byte', 'x-a: a\0b'],
    ['with a bare line feed', 'x-a: a\nx-b: b'],
    ['with a bare carriage return', 'x-a: a\rx-b: b'],
    ['with a control character', 'x-a: a\x1bb'],
    ['with the last control character', 'x-a: a\x7fb'],
    ['with a line feed at its end', 'x-a: a\n'],
    ['with a carriage return at its end', 'x-a: a\r'],
    ['that begins with a line feed', 'x-a:\ncontent-length: 5'],
    ['that begins with a form feed', 'x-a: \fb'],
    ['that ends with a vertical tab', 'x-a: b\v'],
  ])('%s', async (_, header) => {
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
  test.each([
    ['with a sign', 'content-length: +5'],
    ['below zero', 'content-length: -1'],
    ['told twice in one header', 'content-length: 5, 5'],
    ['with an exponent', 'content-length: 1e3'],
    ['in another base', 'content-length: 0x5'],
    ['in a fraction', 'content-length: 5.0'],
    ['of no digits', 'content-length:'],
    ['behind a wide blank', 'content-length: \xa05'],
    ['of too many digits', 'content-length: 1000000000000000'],
    ['and another one', 'content-length: 5\r\nContent-Length: 6'],
    ['and the same one written otherwise', 'content-length: 5\r\ncontent-length: 05'],
    ['and comes in chunks', 'content-length: 5\r\ntransfer-encoding: chunked'],
    ['but comes in chunks', 'Transfer-Encoding: chunked\r\nContent-Length: 5'],
    ['that a compression hides', 'transfer-encoding: gzip'],
    ['that a compression hides in chunks', 'transfer-encoding: gzip, chunked'],
    ['in chunks of chunks', 'transfer-encoding: chunked, chunked'],
    ['in chunks twice', 'transfer-encoding: chunked\r\ntransfer-encoding: chunked'],
    ['in no coding', 'transfer-encoding:'],
    ['in chunks with a word', 'transfer-encoding: chunked;q=1'],
  ])('%s', (_, header) => expectBroken(`${ok}${header}\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`));

  test('the same length twice is fine', () =>
    expectWhole(`${ok}content-length: 5\r\nContent-Length: 5\r\n\r\nabcde`));
});

describe('no answer has a chunk', () => {
  test.each([
    ['without a size', '\r\nabcde\r\n'],
    ['with nothing but an extension', ';a=b\r\nabcde\r\n'],
    ['with a prefix', '0x5\r\nabcde\r\n'],
    ['with nine digits', '000000005\r\nabcde\r\n'],
    ['with a plus', '+5\r\nabcde\r\n'],
    ['with a minus', '-5\r\nabcde\r\n'],
    ['with a space before its size', ' 5\r\nabcde\r\n'],
    ['with a letter that is no digit', '5g\r\nabcde\r\n'],
    ['with a line that ends otherwise', '5\nabcde\r\n'],
    ['with a line that ends with half of it', '5\rabcde\r\n'],
    ['with an extension whose line ends otherwise', '5;a=b\nabcde\r\n'],
    ['with half a line end in its extension', '5;a\rb\r\nabcde\r\n'],
    ['without its line end', '5\r\nabcde0\r\n\r\n'],
    ['whose line end is another', '5\r\nabcde\n0\r\n\r\n'],
    ['that is longer than it says', '5\r\nabcdef\r\n0\r\n\r\n'],
    ['with digits apart', '5 5\r\nabcde\r\n0\r\n\r\n'],
    ['with a tab between its digits', '0\t5\r\nabcde\r\n0\r\n\r\n'],
    ['with blanks that lead to no extension', '5 \r\nabcde\r\n0\r\n\r\n'],
    ['with endless blanks', `5${' '.repeat(300)};a=b\r\nabcde\r\n0\r\n\r\n`],
    ['with a control character in its extension', '5;a=\x01\r\nabcde\r\n0\r\n\r\n'],
    ['with a control character in a trailer', '0\r\nx-a: a\x1bb\r\n\r\n'],
    ['with a trailer without a colon', '0\r\nx-a\r\n\r\n'],
    ['with a space before the colon of a trailer', '0\r\nx-a : b\r\n\r\n'],
    ['with a trailer on two lines', '0\r\nx-a: b\r\n c\r\n\r\n'],
    ['with an endless extension', `5;${'a'.repeat(300)}`],
    ['with endless trailers', `0\r\n${'x-a: b\r\n'.repeat(3_000)}`],
    ['with an endless trailer', `0\r\nx-a: ${'b'.repeat(17_000)}`],
    ['with a trailer whose line ends otherwise', '0\r\nx-a: b\n\r\n'],
    ['with half an end', '0\r\n\r0'],
    ['with another end', '0\r\n\n'],
  ])('%s', (_, body) => expectBroken(`${chunked}${body}`));

  test('every chunk may have an extension of its own', () =>
    expectWhole(`${chunked}${`1;${'a'.repeat(200)}\r\nx\r\n`.repeat(20)}0\r\n\r\n`));

  test('blanks may stand before an extension', () => expectWhole(`${chunked}2 \t;a=b\r\nok\r\n0\r\n\r\n`));
});

describe('no answer has content', () => {
  test.each([
    ['that its status forbids', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 5\r\n\r\nabcde'],
    [
      'in chunks that its status forbids',
      'HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n',
    ],
    ['to the end of the connection that its status forbids', 'HTTP/1.1 205 Reset Content\r\n\r\nabcde'],
    ['compressed by gzip', `${ok}content-encoding: gzip\r\n${rest}`],
    ['compressed twice', `${ok}content-encoding: identity, br\r\n${rest}`],
  ])('%s', (_, text) => expectBroken(text));

  test.each([
    ['with no content', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
    ['with no chunk', 'HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['that is not compressed', `${ok}Content-Encoding: Identity\r\n${rest}`],
  ])('one %s is fine', (_, text) => expectWhole(text));
});
