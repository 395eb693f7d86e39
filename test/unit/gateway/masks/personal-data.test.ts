import { finderOf, allKinds } from '../../../../examples/extensions/personal-data/src/find';
import {
  MAX_MATCH_LENGTH,
  maskJson,
  maskText,
  spanFinder,
} from '../../../../examples/extensions/personal-data/src/mask';
import { placeholdersWith } from '../../../../examples/extensions/personal-data/src/placeholders';
import { settings } from '../../../../examples/extensions/personal-data/src/settings';
import { AnswerMasks } from '../../../../src/gateway/masks/answer-masks';
import { MaskRun } from '../../../../src/gateway/masks/mask-run';
import { MaskedStream } from '../../../../src/gateway/masks/masked-stream';
import { dialects } from '../../../../src/protocol';
import { SeededRandom } from '../../../system/seeded-random';

const findSpans = spanFinder(finderOf(allKinds), placeholdersWith('a secret of some length'));
const kindsOf = (text: string): string[] =>
  findSpans(text).map((span) => `${span.text.slice(1, -8)} ${text.slice(span.start, span.end)}`);

const EMAILS = ['jane.doe+news@mail.example.co.uk', 'JÜRGEN@Bücher.example', 'a_b%c@x-y.org'];
const IBANS = [
  'DE89 3704 0044 0532 0130 00',
  'GB82WEST12345698765432',
  'fr14 2004 1010 0505 0001 3m02 606',
  'NO93-8601-1117-947',
];
const CARDS = ['4111 1111 1111 1111', '5500-0000-0000-0004', '378282246310005', '6011000990139424'];
const PHONES = [
  '+49 (0)151 2345678',
  '0044 20 7946 0958',
  '0151 2345 678',
  '(415) 555-2671',
  '+1-415-555-2671',
];

test.each([
  ...EMAILS.map((value) => ['email', value]),
  ...IBANS.map((value) => ['iban', value]),
  ...CARDS.map((value) => ['card', value]),
  ...PHONES.map((value) => ['phone', value]),
])('%s is found in: %s', (kind, value) => {
  for (const text of [value, `Take ${value}, please`, `${value} EUR 20 12/27`, `(${value})`, `x:${value}\n`])
    expect(kindsOf(text)).toContain(`${kind} ${value}`);
});

test.each([
  'GB82 WEST 1234 5698 7654 33',
  '4111 1111 1111 1112',
  '2026-11-27T01:30:00Z is 1795743000',
  'version 10.20.30-4, 99.95 %, 01-02-2026',
  'not@an, address@ or @user',
  '550e8400-e29b-41d4-a716-446655440000',
])('no personal data is found in %s', (text) => {
  expect(kindsOf(text)).toEqual([]);
});

test('equal values get equal placeholders regardless of spelling', () => {
  const [one, other] = [
    maskText('DE89370400440532013000', findSpans),
    maskText('de89 3704 0044 0532 0130 00', findSpans),
  ];
  expect(one).toBe(other);
  expect(one).toMatch(/^\[iban [0-9a-f]{6}\]$/);
  expect(maskText('a@x.org', findSpans)).not.toBe(maskText('b@x.org', findSpans));
});

test('arguments of a tool call stay valid JSON', () => {
  const masked = maskJson('{"to":["a@x.org",4111111111111111],"n":1}', findSpans);
  expect(JSON.parse(masked)).toEqual({
    to: [maskText('a@x.org', findSpans), maskText('4111111111111111', findSpans)],
    n: 1,
  });
  expect(maskJson('{"n": 1.0}', findSpans)).toBe('{"n": 1.0}');
  expect(maskJson('to a@x.org', findSpans)).toBe(maskText('to a@x.org', findSpans));
});

test('invalid settings are reported by name', async () => {
  const { validate } = settings['~standard'];
  expect(await validate({ kinds: 'email,names', secret: 'short' })).toMatchObject({
    issues: [{ path: ['kinds'] }, { path: ['secret'] }],
  });
  expect(await validate({ secret: 'long enough to be one' })).toEqual({
    value: { kinds: allKinds, secret: 'long enough to be one' },
  });
});

const watch = {
  failed: (failure: Error) => {
    throw failure;
  },
  slow: () => undefined,
};
const streamOf = (name: 'chat' | 'messages' | 'responses'): MaskedStream => {
  const run = new MaskRun({
    name: 'personal-data/blank',
    mask: { longest: MAX_MATCH_LENGTH, find: findSpans },
    onError: 'closed',
    timeoutMs: 60_000,
    watch,
  });
  return new MaskedStream(dialects[name], new AnswerMasks([run], () => undefined));
};

const event = (fields: { readonly type: string }): string =>
  `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
const itemPosition = { item_id: 'm', output_index: 0, content_index: 0 };
const choice = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** Events of a text that arrives in the given pieces. */
const events = {
  chat: (pieces: readonly string[]) => [
    ...pieces.map((content) => choice({ content })),
    choice({}, 'stop'),
    'data: [DONE]\n\n',
  ],
  messages: (pieces: readonly string[]) => [
    event({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
    ...pieces.map((text) =>
      event({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
    ),
    event({ type: 'content_block_stop', ...{ index: 0 } }),
    event({ type: 'message_stop' }),
  ],
  responses: (pieces: readonly string[]) => [
    ...pieces.map((delta) => event({ type: 'response.output_text.delta', ...itemPosition, ...{ delta } })),
    event({ type: 'response.output_text.done', ...itemPosition, ...{ text: pieces.join('') } }),
    event({
      type: 'response.completed',
      ...{
        response: {
          id: 'r',
          output: [{ type: 'message', content: [{ type: 'output_text', text: pieces.join('') }] }],
        },
      },
    }),
  ],
};

/** Reassembles the text as a client does. */
const textOf = (stream: string): string =>
  [...stream.matchAll(/"(?:content|text|delta)":("(?:[^"\\]|\\.)*")/g)]
    .map(([, text]) => JSON.parse(text!) as string)
    .join('');

const WORDS = [
  'Write to ',
  '😀',
  'é',
  '漢字 ',
  'call ',
  ', ',
  '\n',
  '"',
  ' and ',
  '(',
  ') ',
  '12 ',
  'v1.2 ',
  '— ',
];

test('personal data never leaves in 10,000 streams of three dialects cut at every position', () => {
  const randomSource = new SeededRandom(38);
  const data = [...EMAILS, ...IBANS, ...CARDS, ...PHONES];
  let count = 0;
  for (let position = 0; count < 10_000; position += 1) {
    const value = randomSource.pick(data);
    const words = (): string =>
      Array.from({ length: randomSource.integer(0, 30) }, () => randomSource.pick(WORDS)).join('');
    const [before, behind] = [`${words()} `, ` ${words()}`];
    const text = before + value + behind;
    const expected = maskText(text, findSpans);
    for (const [name, write] of Object.entries(events) as [keyof typeof events, typeof events.chat][]) {
      // Cuts iterate over every position within the value; every fourth stream arrives character by character.
      const cut = before.length + (position % (value.length + 1));
      const pieces = count % 4 === 0 ? text.split('') : [text.slice(0, cut), text.slice(cut)];
      const stream = streamOf(name);
      const outputs = write(pieces).map((each) => stream.take(Buffer.from(each)).toString());
      const maskedOutput = textOf(outputs.join(''));
      if (maskedOutput.includes(value) || outputs.join('').includes(JSON.stringify(value).slice(1, -1)))
        throw new Error(`${value} left in ${name} at ${cut}`);
      const repeats = name === 'responses' ? 3 : 1;
      expect(maskedOutput).toBe(expected.repeat(repeats));
      count += 1;
    }
  }
  expect(count).toBeGreaterThanOrEqual(10_000);
});

test('match with its required context never exceeds the declared maximum length', () => {
  const longValues = [
    `${'a'.repeat(99)}@${'b.'.repeat(99)}${'c'.repeat(99)}`,
    `+${'1 ()'.repeat(99)}`,
    '4 '.repeat(99),
    `GB82${' A'.repeat(99)}`,
    '𝐣'.repeat(99) + '@x.org',
  ];
  for (const text of longValues)
    for (const { start, end } of findSpans(text)) expect(end - start).toBeLessThan(MAX_MATCH_LENGTH);
});
