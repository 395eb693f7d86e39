/** A body that the gateway accepts and forwards, as expensive to parse as the limits allow. */
export interface LargeBody {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

const MEBIBYTE = 1024 * 1024;
/** Body limit below /v1 minus the bytes around the content. */
const MAX_CONTENT_BYTES = 32 * MEBIBYTE - 16 * 1024;
const BOUNDARY = 'a-boundary';
/** Just below the limits of names and values. */
const NAME_COUNT = 49_900;
const VALUE_COUNT = 499_000;

const repeatToSize = (piece: string, bytes = MAX_CONTENT_BYTES): string =>
  piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)));

const texts: Readonly<Record<string, () => string>> = {
  'one text': () => repeatToSize('words and '),
  'one text of two bytes a character': () => repeatToSize('é'),
  'one text of characters outside the plane': () => repeatToSize('🙂'),
  'one text of escapes': () => repeatToSize('\\u00e9'),
  'one text of escaped marks': () => repeatToSize('\\"'),
  'one text of line feeds': () => repeatToSize('\\n'),
  'one text without spaces': () => repeatToSize('a'),
};

const message = (content: string): string => `"messages":[{"role":"user","content":${content}}]`;
const parts = (count: number, bytes: number): string => {
  const text = repeatToSize('words and ', Math.floor(bytes / count) - 40);
  return `[${Array.from({ length: count }, () => `{"type":"text","text":"${text}"}`).join(',')}]`;
};
const schema = (inner: string): string =>
  `{"type":"object","properties":{"a":{"type":"integer","enum":${inner}}}}`;
const nested = (depth: number): string =>
  '{"type":"array","items":'.repeat(depth) + '{"type":"string"}' + '}'.repeat(depth);
const user = message('"Hello"');

/** Functions that create the fields other than model and limits, for Chat Completions and Messages. */
const contents: Readonly<Record<string, readonly [chat: () => string, messages: () => string]>> = {
  ...Object.fromEntries(
    Object.entries(texts).map(([name, make]) => {
      const content = (): string => message(`"${make()}"`);
      return [name, [content, content] as const];
    }),
  ),
  'many parts': [
    () => message(parts(NAME_COUNT / 2 - 20, MAX_CONTENT_BYTES)),
    () => message(parts(NAME_COUNT / 2 - 20, MAX_CONTENT_BYTES)),
  ],
  'many messages': [() => messages(NAME_COUNT / 2 - 20), () => messages(NAME_COUNT / 2 - 20)],
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
      `${user},"tools":[${repeatWithCommas(
        8_000,
        (place) => `{"type":"function","function":{"name":"f${place}","parameters":{"type":"object"}}}`,
      )}]`,
    () =>
      `${user},"tools":[${repeatWithCommas(12_000, (place) => `{"name":"f${place}","input_schema":{"type":"object"}}`)}]`,
  ],
  'deep schemas': [
    () =>
      `${user},"tools":[${repeatWithCommas(
        400,
        (place) => `{"type":"function","function":{"name":"f${place}","parameters":${nested(55)}}}`,
      )}]`,
    () =>
      `${user},"tools":[${repeatWithCommas(400, (place) => `{"name":"f${place}","input_schema":${nested(55)}}`)}]`,
  ],
  'a picture': [
    () =>
      message(
        `[{"type":"image_url","image_url":{"url":"data:image/png;base64,${repeatToSize('iVBORw0K')}"}}]`,
      ),
    () =>
      message(
        `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${repeatToSize('iVBORw0K')}"}}]`,
      ),
  ],
  'space between values': [() => `${user}${repeatToSize(' ')}`, () => `${user}${repeatToSize(' ')}`],
};

const repeatWithCommas = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, place) => make(place)).join(',');
const digits = (): string => `[0.${repeatToSize('1')}]`;
const numbers = (): string => `[${repeatWithCommas(VALUE_COUNT, (place) => `${place}`)}]`;
function messages(count: number): string {
  const text = repeatToSize('words and ', Math.floor(MAX_CONTENT_BYTES / count) - 48);
  const roles = ['user', 'assistant'];
  return `"messages":[${repeatWithCommas(count - 1, (place) => `{"role":"${roles[place % 2]}","content":"${text}"}`)},{"role":"user","content":"Hello"}]`;
}

const json = (name: string, path: string, model: string, content: string): LargeBody => ({
  name,
  path,
  contentType: 'application/json',
  bytes: Buffer.from(
    `{"model":"${model}",${path.endsWith('/responses') ? '' : '"max_tokens":16,'}${content}}`,
  ),
});

/** Input of the same question for the Responses API. */
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
/** Creates a WAV recording whose header states its length. */
function wavOf(content: string): string {
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
const sound = (content: string): string => part('name="file"; filename="a.wav"', wavOf(content));

/** Created lazily, one at a time. */
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
      const content = `"input":"Hello","instructions":"${repeatToSize('words and ')}"${stream}`;
      const name = `responses to ${model === 'modern' ? 'responses' : 'messages'}: long instructions${stream && ', streamed'}`;
      return json(name, '/v1/responses', model, content);
    }),
  ),
  () => form('a form: one recording', sound(repeatToSize('\0', 24 * MEBIBYTE))),
  () =>
    form('a form: a recording of almost-boundaries', sound(repeatToSize('\r\n--a-boundar', 24 * MEBIBYTE))),
  () =>
    form(
      'a form: as many long fields as may be',
      repeatWithCommas(60, (place) =>
        part(`name="field_${place}"`, repeatToSize('a', 64 * 1024 - 1)),
      ).replaceAll(',--', '--') + sound(repeatToSize('\0', 24 * MEBIBYTE)),
    ),
];
