import type { Answer, House } from './house';
import { type Check, Skipped, skippedUnless } from './kit';

interface Dialect {
  readonly name: string;
  ask(house: House, prompt: string, stream: boolean): Promise<Answer>;
  whole(text: string): string;
  streamed(text: string): string;
}

type Parsed = Readonly<Record<string, unknown>>;
const eventsOf = (text: string): Parsed[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '{}']) => JSON.parse(json) as Parsed);
const first = (list: unknown): Parsed => ((list as Parsed[] | undefined) ?? [])[0] ?? {};
const part = (object: unknown, name: string): unknown => (object as Parsed | undefined)?.[name];
const wordsOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const dialects: readonly Dialect[] = [
  {
    name: 'chat',
    ask: (house, content, stream) =>
      house.post('/v1/chat/completions', {
        model: 'kit-model',
        stream,
        messages: [{ role: 'user', content }],
      }),
    whole: (text) => String(part(first((JSON.parse(text) as Parsed)['choices'])['message'], 'content')),
    streamed: (text) =>
      eventsOf(text)
        .map(({ choices }) => wordsOf(part(first(choices)['delta'], 'content')))
        .join(''),
  },
  {
    name: 'messages',
    ask: (house, content, stream) =>
      house.post('/v1/messages', {
        model: 'kit-model',
        stream,
        max_tokens: 500,
        messages: [{ role: 'user', content }],
      }),
    whole: (text) => String(first((JSON.parse(text) as Parsed)['content'])['text']),
    streamed: (text) =>
      eventsOf(text)
        .map(({ delta }) => wordsOf(part(delta, 'text')))
        .join(''),
  },
  {
    name: 'responses',
    ask: (house, input, stream) =>
      house.post('/v1/responses', { model: 'kit-model', stream, input, store: false }),
    whole: (text) => {
      const output = (JSON.parse(text) as { output: Parsed[] }).output;
      return String(first(output.find(({ type }) => type === 'message')?.['content'])['text']);
    },
    streamed: (text) =>
      eventsOf(text)
        .filter(({ type }) => type === 'response.output_text.delta')
        .map(({ delta }) => delta)
        .join(''),
  },
];

function answered({ status, text }: Answer): string {
  if (status !== 200) throw new Error(`a request was answered ${status}: ${text}`);
  return text;
}

const splitCheck = (dialect: Dialect): Check => ({
  topic: 'masks',
  name: `cut at every place, a stream of ${dialect.name} shows what the whole answer shows`,
  skip: (kit) =>
    skippedUnless(
      kit.facts().gates.filter(({ hooks }) => hooks.includes('answer')),
      'no gate has an answer',
    ),
  async run(kit) {
    const house = await kit.house();
    const standIn = await kit.standIn();
    let masked = 0;
    for (const text of kit.texts) {
      Object.assign(standIn, { answer: text, cuts: [] });
      const whole = dialect.whole(answered(await dialect.ask(house, kit.prompt, false)));
      if (whole !== text) masked += 1;
      for (let cut = 1; cut < text.length; cut += 1) {
        standIn.cuts = [cut];
        const said = answered(await dialect.ask(house, kit.prompt, true));
        const shown = dialect.streamed(said);
        if (shown !== whole) throw new Error(`cut at ${cut} it shows "${shown}", whole "${whole}"`);
        // Repeats of a text at its end are shown as well.
        if (whole !== text && said.includes(text))
          throw new Error(`cut at ${cut} the text itself is in the stream`);
      }
    }
    Object.assign(standIn, { answer: 'Good day.', cuts: [] });
    if (masked === 0)
      throw new Skipped('its masks find nothing in the texts; give others as `texts` or --text');
  },
});

export const maskChecks: readonly Check[] = dialects.map(splitCheck);
