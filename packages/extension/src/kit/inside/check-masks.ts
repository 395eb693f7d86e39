import type { ServiceResponse, ServiceProcess } from './service-process';
import { type KitCheck, Skipped, skippedUnless } from './kit';

interface MaskDialect {
  readonly name: string;
  send(house: ServiceProcess, prompt: string, stream: boolean): Promise<ServiceResponse>;
  nonStreaming(text: string): string;
  streaming(text: string): string;
}

type ParsedJson = Readonly<Record<string, unknown>>;
const eventsOf = (text: string): ParsedJson[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '{}']) => JSON.parse(json) as ParsedJson);
const first = (list: unknown): ParsedJson => ((list as ParsedJson[] | undefined) ?? [])[0] ?? {};
const part = (object: unknown, name: string): unknown => (object as ParsedJson | undefined)?.[name];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const dialects: readonly MaskDialect[] = [
  {
    name: 'chat',
    send: (service, content, stream) =>
      service.post('/v1/chat/completions', {
        model: 'kit-model',
        stream,
        messages: [{ role: 'user', content }],
      }),
    nonStreaming: (text) =>
      String(part(first((JSON.parse(text) as ParsedJson)['choices'])['message'], 'content')),
    streaming: (text) =>
      eventsOf(text)
        .map(({ choices }) => textOf(part(first(choices)['delta'], 'content')))
        .join(''),
  },
  {
    name: 'messages',
    send: (service, content, stream) =>
      service.post('/v1/messages', {
        model: 'kit-model',
        stream,
        max_tokens: 500,
        messages: [{ role: 'user', content }],
      }),
    nonStreaming: (text) => String(first((JSON.parse(text) as ParsedJson)['content'])['text']),
    streaming: (text) =>
      eventsOf(text)
        .map(({ delta }) => textOf(part(delta, 'text')))
        .join(''),
  },
  {
    name: 'responses',
    send: (service, input, stream) =>
      service.post('/v1/responses', { model: 'kit-model', stream, input, store: false }),
    nonStreaming: (text) => {
      const output = (JSON.parse(text) as { output: ParsedJson[] }).output;
      return String(first(output.find(({ type }) => type === 'message')?.['content'])['text']);
    },
    streaming: (text) =>
      eventsOf(text)
        .filter(({ type }) => type === 'response.output_text.delta')
        .map(({ delta }) => delta)
        .join(''),
  },
];

function successfulText({ status, text }: ServiceResponse): string {
  if (status !== 200) throw new Error(`a request was answered ${status}: ${text}`);
  return text;
}

const splitCheck = (dialect: MaskDialect): KitCheck => ({
  topic: 'masks',
  name: `cut at every place, a stream of ${dialect.name} shows what the whole answer shows`,
  skip: (kit) =>
    skippedUnless(
      kit.contributions().gates.filter(({ hooks }) => hooks.includes('answer')),
      'no gate has an answer',
    ),
  async run(kit) {
    const service = await kit.service();
    const standIn = await kit.standIn();
    let masked = 0;
    for (const text of kit.texts) {
      Object.assign(standIn, { answer: text, cuts: [] });
      const nonStreaming = dialect.nonStreaming(
        successfulText(await dialect.send(service, kit.prompt, false)),
      );
      if (nonStreaming !== text) masked += 1;
      for (let cut = 1; cut < text.length; cut += 1) {
        standIn.cuts = [cut];
        const stream = successfulText(await dialect.send(service, kit.prompt, true));
        const shown = dialect.streaming(stream);
        if (shown !== nonStreaming)
          throw new Error(`cut at ${cut} it shows "${shown}", whole "${nonStreaming}"`);
        // The stream must not repeat the original text at its end either.
        if (nonStreaming !== text && stream.includes(text))
          throw new Error(`cut at ${cut} the text itself is in the stream`);
      }
    }
    Object.assign(standIn, { answer: 'Good day.', cuts: [] });
    if (masked === 0)
      throw new Skipped('its masks find nothing in the texts; give others as `texts` or --text');
  },
});

export const maskChecks: readonly KitCheck[] = dialects.map(splitCheck);
