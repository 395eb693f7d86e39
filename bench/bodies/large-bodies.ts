/** A body that the gateway takes and hands on, as costly to read as the bounds allow. */
export interface LargeBody {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

const MEBIBYTE = 1024 * 1024;
/** The limit of a body below /v1, less what stands around the content. */
const CONTENT_BYTES = 32 * MEBIBYTE - 16 * 1024;
const BOUNDARY = 'a-boundary';
/** Just under the bounds of names and values. */
const NAMES = 49_900;
const VALUES = 499_000;

const filled = (piece: string, bytes = CONTENT_BYTES): string =>
  piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));

const texts: Readonly<Record<string, () => string>> = {
  'one text': () => filled('words and '),
  'one text of two bytes a character': () => filled('é'),
  'one text of characters outside the plane': () => filled('🙂'),
  'one text of escapes': () => filled('\\u00e9'),
  'one text of escaped marks': () => filled('\\"'),
  'one text of line feeds': () => filled('\\n'),
  'one text without spaces': () => filled('a'),
};

const message = (content: string): string => `"messages":[{"role":"user","content":${content}}]`;
const parts = (count: number, bytes: number): string => {
  const text = filled('words and ', Math.floor(bytes / count) - 40);
  return `[${Array.from({ length: count }, () => `{"type":"text","text":"${text}"}`).join(',')}]`;
};
const schema = (inner: string): string =>
  `{"type":"object","properties":{"a":{"type":"integer","enum":${inner}}}}`;
const nested = (depth: number): string =>
  '{"type":"array","items":'.repeat(depth) + '{"type":"string"}' + '}'.repeat(depth);
const user = message('"Hello"');

/** These functions make the fields beside model and limits, for chat and for messages. */
const contents: Readonly<Record<string, readonly [chat: () => string, messages: () => string]>> = {
  ...Object.fromEntries(
    Object.entries(texts).map(([name, make]) => {
      const content = (): string => message(`"${make()}"`);
      return [name, [content, content] as const];
    }),
  ),
  'many parts': [
    () => message(parts(NAMES / 2 - 20, CONTENT_BYTES)),
    () => message(parts(NAMES / 2 - 20, CONTENT_BYTES)),
  ],
  'many messages': [() => messages(NAMES / 2 - 20), () => messages(NAMES / 2 - 20)],
  'a schema of many numbers': [
    () => `${user},"tools":[{"type":"function","function":{"name":"f","parameters":${schema(numbers())}}}]`,
    () => `${user},"tools":[{"name":"f","input_schema":${schema(numbers())}}]`,
  ],
  'one number': [
    () => `${user},"tools":[{"type":"function","function":{"name":"f","parameters":${schema(digits())}}}]`,
    () => `${user},"tools":[{"name":"f","input_schema":${schema(digits())}}]`,
  ],
  'many tools': [
    () =>
      `${user},"tools":[${several(
        8_000,
        (place) => `{"type":"function","function":{"name":"f${place}","parameters":{"type":"object"}}}`,
      )}]`,
    () =>
      `${user},"tools":[${several(12_000, (place) => `{"name":"f${place}","input_schema":{"type":"object"}}`)}]`,
  ],
  'deep schemas': [
    () =>
      `${user},"tools":[${several(
        400,
        (place) => `{"type":"function","function":{"name":"f${place}","parameters":${nested(55)}}}`,
      )}]`,
    () => `${user},"tools":[${several(400, (place) => `{"name":"f${place}","input_schema":${nested(55)}}`)}]`,
  ],
  'a picture': [
    () => message(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,${filled('iVBORw0K')}"}}]`),
    () =>
      message(
        `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${filled('iVBORw0K')}"}}]`,
      ),
  ],
  'space between values': [() => `${user}${filled(' ')}`, () => `${user}${filled(' ')}`],
};

const several = (count: number, make: (place: number) => string): string =>
  Array.from({ length: count }, (_, place) => make(place)).join(',');
const digits = (): string => `[0.${filled('1')}]`;
const numbers = (): string => `[${several(VALUES, (place) => `${place}`)}]`;
function messages(count: number): string {
  const text = filled('words and ', Math.floor(CONTENT_BYTES / count) - 48);
  const roles = ['user', 'assistant'];
  return `"messages":[${several(count - 1, (place) => `{"role":"${roles[place % 2]}","content":"${text}"}`)},{"role":"user","content":"Hello"}]`;
}

const json = (name: string, path: string, model: string, content: string): LargeBody => ({
  name,
  path,
  contentType: 'application/json',
  bytes: Buffer.from(
    `{"model":"${model}",${path.endsWith('/responses') ? '' : '"max_tokens":16,'}${content}}`,
  ),
});

/** The same question as a caller of responses asks it. */
const inputOf = (content: string): string =>
  content
    .replace('"messages":', '"input":')
    .replaceAll('{"type":"text",', '{"type":"input_text",')
    .replaceAll(
      /"type":"function","function":\{("name":"f\d*","parameters":.*?\})\}(?=[,\]])/g,
      '"type":"function",$1',
    );

const part = (head: string, content: string): string =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
const form = (name: string, content: string): LargeBody => ({
  name,
  path: '/v1/audio/transcriptions',
  contentType: `multipart/form-data; boundary=${BOUNDARY}`,
  bytes: Buffer.from(`${part('name="model"', 'hearing')}${content}--${BOUNDARY}--\r\n`, 'latin1'),
});
/** This makes a WAV recording: its header lets the gateway tell its length. */
function wave(content: string): string {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + content.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8_000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(content.length, 40);
  return head.toString('latin1') + content;
}
const sound = (content: string): string => part('name="file"; filename="a.wav"', wave(content));

/** Each is made when it is its turn. */
export const largeBodies: readonly (() => LargeBody)[] = [
  ...Object.entries(contents).flatMap(([name, [chat, messagesOf]]) => [
    () => json(`chat to chat: ${name}`, '/v1/chat/completions', 'chatty', chat()),
    () => json(`chat to messages: ${name}`, '/v1/chat/completions', 'wordy', chat()),
    () => json(`messages to messages: ${name}`, '/v1/messages', 'wordy', messagesOf()),
    () => json(`messages to chat: ${name}`, '/v1/messages', 'chatty', messagesOf()),
    () => json(`responses to responses: ${name}`, '/v1/responses', 'modern', inputOf(chat())),
    () => json(`responses to messages: ${name}`, '/v1/responses', 'wordy', inputOf(chat())),
    () => json(`tokens counted: ${name}`, '/v1/messages/count_tokens', 'chatty', messagesOf()),
  ]),
  ...['modern', 'wordy'].flatMap((model) =>
    ['', ',"stream":true'].map((stream) => () => {
      const content = `"input":"Hello","instructions":"${filled('words and ')}"${stream}`;
      const name = `responses to ${model === 'modern' ? 'responses' : 'messages'}: long instructions${stream && ', streamed'}`;
      return json(name, '/v1/responses', model, content);
    }),
  ),
  () => form('a form: one recording', sound(filled('\0', 24 * MEBIBYTE))),
  () => form('a form: a recording of almost-boundaries', sound(filled('\r\n--a-boundar', 24 * MEBIBYTE))),
  () =>
    form(
      'a form: as many long fields as may be',
      several(60, (place) => part(`name="field_${place}"`, filled('a', 64 * 1024 - 1))).replaceAll(
        ',--',
        '--',
      ) + sound(filled('\0', 24 * MEBIBYTE)),
    ),
];
