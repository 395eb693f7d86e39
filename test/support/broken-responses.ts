/** HTTP/1.1 responses that a client must reject: a name and ISO 8859-1 bytes each. */
type BrokenResponses = readonly (readonly [name: string, text: string])[];

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;
const emptyBody = 'content-length: 0\r\n\r\n';
const continueResponse = 'HTTP/1.1 100 Continue\r\n\r\n';

/** Complete responses. */
export const brokenStatusLines: BrokenResponses = [
  ['nothing', '\r\n\r\n'],
  ['an empty line', `\r\n${ok}${emptyBody}`],
  ['a header', `content-length: 0\r\n\r\n`],
  ['another protocol', `ICY 200 OK\r\n${emptyBody}`],
  ['a newer version', `HTTP/2.0 200 OK\r\n${emptyBody}`],
  ['a version of the past', `HTTP/0.9 200 OK\r\n${emptyBody}`],
  ['a version in small letters', `http/1.1 200 OK\r\n${emptyBody}`],
  ['a status that is none', `HTTP/1.1 099 OK\r\n${emptyBody}`],
  ['a status in letters', `HTTP/1.1 ten OK\r\n${emptyBody}`],
  ['a status of four digits', `HTTP/1.1 2000 OK\r\n${emptyBody}`],
  ['a status without the space behind it', `HTTP/1.1 200\r\n${emptyBody}`],
  ['a status behind two spaces', `HTTP/1.1  200 OK\r\n${emptyBody}`],
  ['a control character in its reason', `HTTP/1.1 200 O\0K\r\n${emptyBody}`],
  ['a change of the protocol', `HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n`],
  ['lines that end otherwise', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n'],
  ['too many others', continueResponse.repeat(17)],
];

/** Header lines. */
export const headers: BrokenResponses = [
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
];

/** Header lines before a chunk of five bytes. */
export const lengths: BrokenResponses = [
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
];

/** Bodies after a head that announces chunks. */
export const chunks: BrokenResponses = [
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
];

/** Complete responses. */
export const contents: BrokenResponses = [
  ['that its status forbids', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 5\r\n\r\nabcde'],
  [
    'in chunks that its status forbids',
    'HTTP/1.1 205 Reset Content\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n',
  ],
  ['to the end of the connection that its status forbids', 'HTTP/1.1 205 Reset Content\r\n\r\nabcde'],
  ['compressed by gzip', `${ok}content-encoding: gzip\r\n${emptyBody}`],
  ['compressed twice', `${ok}content-encoding: identity, br\r\n${emptyBody}`],
];

const partialBody = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun';
const partialChunkedBody = `${chunked}5\r\nbegun\r\n`;

/** The supplier closes the connection after each. */
export const truncations: BrokenResponses = [
  ['before it says a word', ''],
  ['in the middle of a head', 'HTTP/1.1 200 OK\r\nconte'],
  ['between two heads', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['before a body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'],
  ['in the middle of a body', partialBody],
  ['in the middle of a chunk', `${partialChunkedBody}9\r\nab`],
  ['between two chunks', partialChunkedBody],
  ['before the end of the chunks', `${partialChunkedBody}0\r\n`],
];

/** All broken responses, each complete. */
export const brokenResponses: BrokenResponses = [
  ...brokenStatusLines.map(([name, text]) => [`begins with ${name}`, text] as const),
  ...headers.flatMap(([name, line]) => [
    [`has a header ${name}`, `${ok}${line}\r\n${emptyBody}`] as const,
    [`has an early header ${name}`, `HTTP/1.1 103 Early\r\n${line}\r\n\r\n${ok}${emptyBody}`] as const,
  ]),
  ...lengths.map(
    ([name, lines]) => [`has a length ${name}`, `${ok}${lines}\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`] as const,
  ),
  ...chunks.map(([name, body]) => [`has a chunk ${name}`, `${chunked}${body}`] as const),
  ...contents.map(([name, text]) => [`has content ${name}`, text] as const),
];
