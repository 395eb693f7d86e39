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
import { Chance } from '../../../system/chance';

const find = spanFinder(finderOf(allKinds), placeholdersWith('a secret of some length'));
const kindsIn = (text: string): string[] =>
  find(text).map((span) => `${span.text.slice(1, -8)} ${text.slice(span.start, span.end)}`);

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
])('%s: %s', (kind, value) => {
  for (const text of [value, `Take ${value}, please`, `${value} EUR 20 12/27`, `(${value})`, `x:${value}\n`])
    expect(kindsIn(text)).toContain(`${kind} ${value}`);
});

test.each([
  'GB82 WEST 1234 5698 7654 33',
  '4111 1111 1111 1112',
  '2026-11-27T01:30:00Z is 1795743000',
  'version 10.20.30-4, 99.95 %, 01-02-2026',
  'not@an, address@ or @user',
  '550e8400-e29b-41d4-a716-446655440000',
])('nothing is found in %s', (text) => {
  expect(kindsIn(text)).toEqual([]);
});

test('the same value has the same placeholder, however it is written', () => {
  const [one, other] = [
    maskText('DE89370400440532013000', find),
    maskText('de89 3704 0044 0532 0130 00', find),
  ];
  expect(one).toBe(other);
  expect(one).toMatch(/^\[iban [0-9a-f]{6}\]$/);
  expect(maskText('a@x.org', find)).not.toBe(maskText('b@x.org', find));
});

test('the arguments of a tool call stay JSON', () => {
  const masked = maskJson('{"to":["a@x.org",4111111111111111],"n":1}', find);
  expect(JSON.parse(masked)).toEqual({
    to: [maskText('a@x.org', find), maskText('4111111111111111', find)],
    n: 1,
  });
  expect(maskJson('{"n": 1.0}', find)).toBe('{"n": 1.0}');
  expect(maskJson('to a@x.org', find)).toBe(maskText('to a@x.org', find));
});

test('settings with a fault are told by name', async () => {
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
    mask: { longest: MAX_MATCH_LENGTH, find },
    onError: 'closed',
    timeoutMs: 60_000,
    watch,
  });
  return new MaskedStream(dialects[name], new AnswerMasks([run], () => undefined));
};

const event = (fields: { readonly type: string }): string =>
  `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
const at = { item_id: 'm', output_index: 0, content_index: 0 };
const choice = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** The events of a text that comes in these pieces. */
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
    ...pieces.map((delta) => event({ type: 'response.output_text.delta', ...at, ...{ delta } })),
    event({ type: 'response.output_text.done', ...at, ...{ text: pieces.join('') } }),
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

/** The text as a client puts it together. */
const textIn = (stream: string): string =>
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

test('in 10,000 streams of three dialects, cut at every place, no personal data leaves', () => {
  const chance = new Chance(38);
  const data = [...EMAILS, ...IBANS, ...CARDS, ...PHONES];
  let count = 0;
  for (let place = 0; count < 10_000; place += 1) {
    const value = chance.pick(data);
    const words = (): string =>
      Array.from({ length: chance.whole(0, 30) }, () => chance.pick(WORDS)).join('');
    const [before, behind] = [`${words()} `, ` ${words()}`];
    const text = before + value + behind;
    const expected = maskText(text, find);
    for (const [name, write] of Object.entries(events) as [keyof typeof events, typeof events.chat][]) {
      // Every place within the value is cut at in turn; every fourth stream comes character by character.
      const cut = before.length + (place % (value.length + 1));
      const pieces = count % 4 === 0 ? text.split('') : [text.slice(0, cut), text.slice(cut)];
      const stream = streamOf(name);
      const shown = write(pieces).map((each) => stream.take(Buffer.from(each)).toString());
      const out = textIn(shown.join(''));
      if (out.includes(value) || shown.join('').includes(JSON.stringify(value).slice(1, -1)))
        throw new Error(`${value} left in ${name} at ${cut}`);
      const repeats = name === 'responses' ? 3 : 1;
      expect(out).toBe(expected.repeat(repeats));
      count += 1;
    }
  }
  expect(count).toBeGreaterThanOrEqual(10_000);
});

test('no find is longer than the mask says, with what has to follow it', () => {
  const long = [
    `${'a'.repeat(99)}@${'b.'.repeat(99)}${'c'.repeat(99)}`,
    `+${'1 ()'.repeat(99)}`,
    '4 '.repeat(99),
    `GB82${' A'.repeat(99)}`,
    '𝐣'.repeat(99) + '@x.org',
  ];
  for (const text of long) for (const { start, end } of find(text)) expect(end - start).toBeLessThan(MAX_MATCH_LENGTH);
});
