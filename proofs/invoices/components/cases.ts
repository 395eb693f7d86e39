import type { Chance } from '../../../test/system/chance';
import { answerOf, type Figures, type Vendor } from './answers';

export type Answer = (vendor: Vendor | null, stream: boolean) => string | Buffer;

/** A call, and what the supplier will say to it. */
export interface Case {
  readonly number: number;
  readonly name: string;
  readonly path: string;
  readonly body: object | FormData;
  readonly answer: Answer;
  /** Providers that fail at it. */
  readonly failing: readonly string[];
}

type Draft = Omit<Case, 'number' | 'body' | 'failing'> & {
  readonly body: (mark: string) => object | FormData;
  readonly failing?: readonly string[];
};
type Dialect = 'chat' | 'messages' | 'responses';

/** Always found in what a supplier is sent. */
export const markOf = (number: number): string => `call-${String(number).padStart(7, '0')}`;

const paths: Readonly<Record<Dialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

function bodyOf(dialect: Dialect, model: string, mark: string, rest: object): object {
  const content = `${mark} What does it cost?`;
  if (dialect === 'responses') return { model, input: content, max_output_tokens: 500, ...rest };
  return { model, messages: [{ role: 'user', content }], max_tokens: 500, ...rest };
}

const nothing: Figures = {
  text: 'It is told by the price list.',
  input: 1,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  audioInput: 0,
  image: 0,
  output: 1,
  reasoning: 0,
  audioOutput: 0,
  imageOutput: 0,
  thoughts: 'inside',
  served: {},
  searches: 0,
  fileSearches: 0,
  containers: 0,
};

class Drafts {
  readonly list: Draft[] = [];

  constructor(private readonly chance: Chance) {}

  /** Thoughts are odd and cached tokens even: nothing can be taken for the other. */
  private figures(vendor: Vendor, rest: Partial<Figures>): Figures {
    const { chance } = this;
    const some = (most: number): number => (chance.flip() ? chance.whole(1, most) : 0);
    const isMessages = vendor === 'messages';
    const isTotals = vendor === 'chat' || vendor === 'responses';
    return {
      ...nothing,
      input: chance.whole(1, 3_500),
      cacheRead: 2 * some(700),
      cacheWrite: vendor === 'gemini' ? 0 : 2 * some(300),
      cacheWriteLong: isMessages ? some(700) : 0,
      audioInput: isMessages ? 0 : some(400),
      image: isMessages ? 0 : some(900),
      output: chance.whole(1, 900),
      reasoning: chance.flip() ? 2 * chance.whole(1, 300) + 1 : 0,
      audioOutput: isTotals ? some(300) : 0,
      imageOutput: isMessages ? 0 : some(500),
      thoughts: isTotals && chance.flip(0.3) ? 'beside' : 'inside',
      ...rest,
    };
  }

  /** The same whole and streamed. */
  pair(
    name: string,
    dialect: Dialect,
    model: string,
    vendor: Vendor,
    given: Partial<Figures> = {},
    asked: object = {},
    failing: readonly string[] = [],
  ): void {
    const figures = this.figures(vendor, given);
    for (const stream of [false, true]) {
      this.list.push({
        name: `${name}, ${stream ? 'streamed' : 'whole'}`,
        path: paths[dialect],
        body: (mark) => bodyOf(dialect, model, mark, { stream, ...asked }),
        answer: (spoken, streamed) => answerOf[spoken ?? vendor](figures, streamed),
        failing,
      });
    }
  }

  single(name: string, path: string, body: Draft['body'], answer: object | Buffer): void {
    const bytes = Buffer.isBuffer(answer) ? answer : JSON.stringify(answer);
    this.list.push({ name, path, body, answer: () => bytes });
  }
}

/** Every component of every vendor, again and again, with other figures. */
export function planCases(chance: Chance, rounds: number): Case[] {
  const drafts = new Drafts(chance);
  for (let round = 0; round < rounds; round += 1) {
    ofTokens(drafts, chance);
    ofFees(drafts, chance);
    ofTranslations(drafts);
    ofLanes(drafts, chance);
    ofMedia(drafts, chance);
  }
  return drafts.list.map(({ body, failing = [], ...draft }, at) => ({
    ...draft,
    failing,
    number: at + 1,
    body: body(markOf(at + 1)),
  }));
}

function ofTokens(drafts: Drafts, chance: Chance): void {
  drafts.pair('chat', 'chat', 'open', 'chat');
  drafts.pair('responses', 'responses', 'open', 'responses');
  drafts.pair('messages', 'messages', 'claude', 'messages');
  const alone = { cacheRead: 0, cacheWrite: 0, audioInput: 0, image: 0, audioOutput: 0, imageOutput: 0 };
  const thoughts = 2 * chance.whole(1, 400) + 1;
  drafts.pair('thoughts in the total alone', 'chat', 'compat', 'chat', {
    ...alone,
    thoughts: 'total',
    reasoning: thoughts,
  });
}

function ofFees(drafts: Drafts, chance: Chance): void {
  const some = (): number => chance.whole(1, 4);
  const size = chance.pick(['low', 'medium', 'high']);
  const options = { web_search_options: chance.flip() ? {} : { search_context_size: size } };
  drafts.pair('a search in chat', 'chat', 'open', 'chat', {}, options);
  const tools = [
    { type: 'web_search', ...(chance.flip() ? {} : { search_context_size: size }) },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
  ];
  const used = { searches: some(), fileSearches: some(), containers: chance.whole(0, 1) };
  drafts.pair('tools of responses', 'responses', 'open', 'responses', used, { tools });
  const wordy = [
    { type: 'web_search_20250305', name: 'web_search', max_uses: 4 },
    { type: 'code_execution_20250825', name: 'code_execution' },
  ];
  const ran = { searches: some(), containers: chance.whole(0, 1) };
  drafts.pair('tools of messages', 'messages', 'claude', 'messages', ran, { tools: wordy });
  const tier = chance.pick(['flex', 'priority', 'auto', 'default']);
  // As asked for, stepped down, chosen by the supplier, or not said at all.
  const told = chance.pick<Record<string, string>>([
    { service_tier: tier === 'auto' ? 'priority' : tier },
    { service_tier: 'default' },
    {},
  ]);
  drafts.pair('a tier of chat', 'chat', 'open', 'chat', { served: told }, { service_tier: tier });
  drafts.pair(
    'a tier of responses',
    'responses',
    'open',
    'responses',
    { served: told },
    { service_tier: tier },
  );
  const modes = {
    ...(chance.flip() ? { speed: 'fast' } : {}),
    ...(chance.flip() ? { inference_geo: 'us' } : {}),
  };
  const served = { ...modes, service_tier: chance.pick(['priority', 'standard']) };
  drafts.pair('speed, place and tier of messages', 'messages', 'claude', 'messages', { served }, modes);
  drafts.pair('a tier that no price names', 'chat', 'open', 'chat', { served: { service_tier: 'ultra' } });
}

function ofTranslations(drafts: Drafts): void {
  for (const dialect of ['chat', 'responses'] as const) {
    drafts.pair(`${dialect} to messages`, dialect, 'claude', 'messages', {
      served: { service_tier: 'priority' },
    });
  }
  drafts.pair('messages to chat or responses', 'messages', 'open', 'chat');
  for (const dialect of ['messages', 'responses'] as const)
    drafts.pair(`${dialect} to chat`, dialect, 'compat', 'chat');
  for (const dialect of ['chat', 'messages', 'responses'] as const) {
    drafts.pair(`${dialect} to gemini`, dialect, 'google', 'gemini', { searches: 3 });
  }
  drafts.pair('grounding by the prompt', 'chat', 'google-by-prompt', 'gemini', { searches: 2 });
}

/** Cheap and dear lanes of one model. */
function ofLanes(drafts: Drafts, chance: Chance): void {
  const failing = chance.pick([[], ['open-a'], ['open-a', 'open-b']]);
  for (const dialect of ['chat', 'messages', 'responses'] as const) {
    drafts.pair(`${dialect} on one of three lanes`, dialect, 'lanes', 'chat', {}, {}, failing);
  }
}

function ofMedia(drafts: Drafts, chance: Chance): void {
  const { single } = { single: drafts.single.bind(drafts) };
  const data = (length: number): object[] => Array.from({ length }, () => ({ b64_json: 'aGk=' }));
  const images = '/v1/images/generations';
  const [text, image, written] = [chance.whole(1, 500), chance.whole(0, 900), chance.whole(0, 50)];
  const left = chance.whole(100, 4_000);
  single('pictures by tokens', images, (mark) => ({ model: 'picture-tokens', prompt: mark }), {
    created: 1,
    data: data(1),
    usage: {
      input_tokens: text + image,
      output_tokens: left + written,
      total_tokens: text + image + left + written,
      input_tokens_details: { text_tokens: text, image_tokens: image },
      output_tokens_details: { text_tokens: written, image_tokens: left },
    },
  });
  const kind = { size: chance.pick(['1024x1024', '1024x1792']), ...(chance.flip() ? { quality: 'hd' } : {}) };
  const n = chance.whole(1, 4);
  single(
    'pictures by size and quality',
    images,
    (mark) => ({ model: 'picture-sizes', prompt: mark, n, ...kind }),
    { created: 1, data: data(n) },
  );
  const tokens = chance.whole(1, 9_000);
  single('embeddings', '/v1/embeddings', (mark) => ({ model: 'embed', input: mark }), {
    object: 'list',
    model: 'vendor-model',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
  const results = [{ index: 0, relevance_score: 0.5 }];
  const rank = (model: string) => (mark: string) => ({ model, query: mark, documents: ['one', 'two'] });
  const units = { billed_units: { search_units: chance.whole(1, 3) } };
  single('search units of a rerank', '/v1/rerank', rank('rank'), { id: 'r', results, meta: units });
  single('tokens of a rerank', '/v1/rerank', rank('rank-tokens'), {
    id: 'r',
    results,
    usage: { total_tokens: tokens },
  });
  const seconds = chance.whole(1, 90_000) / 10_000;
  const heard = { text: 'Hello.' };
  single('minutes of a transcription', '/v1/audio/transcriptions', recording('scribe-minutes'), {
    ...heard,
    usage: { type: 'duration', seconds },
  });
  const audio = chance.whole(1, 200);
  single('tokens of a transcription', '/v1/audio/transcriptions', recording('scribe-tokens'), {
    ...heard,
    usage: {
      type: 'tokens',
      input_tokens: audio + 7,
      input_token_details: { text_tokens: 7, audio_tokens: audio },
      output_tokens: 31,
      total_tokens: audio + 38,
    },
  });
  const said = 'Zürich 🦊 '.repeat(chance.whole(1, 30));
  single(
    'characters of speech',
    '/v1/audio/speech',
    (mark) => ({ model: 'speak', voice: 'alloy', input: mark + said }),
    Buffer.from('ID3 sound'),
  );
  single('a moderation', '/v1/moderations', (mark) => ({ model: 'moderate', input: mark }), {
    id: 'm',
    model: 'vendor-model',
    results: [{ flagged: false, categories: {}, category_scores: {} }],
  });
}

const RATE = 8_000;
/** Ten seconds of silence. */
const recording =
  (model: string) =>
  (mark: string): FormData => {
    const samples = Buffer.alloc(10 * RATE * 2);
    const head = Buffer.alloc(44);
    head.write('RIFF', 0, 'latin1');
    head.writeUInt32LE(36 + samples.length, 4);
    head.write('WAVEfmt ', 8, 'latin1');
    head.writeUInt32LE(16, 16);
    head.writeUInt16LE(1, 20);
    head.writeUInt16LE(1, 22);
    head.writeUInt32LE(RATE, 24);
    head.writeUInt32LE(RATE * 2, 28);
    head.writeUInt16LE(2, 32);
    head.writeUInt16LE(16, 34);
    head.write('data', 36, 'latin1');
    head.writeUInt32LE(samples.length, 40);
    const form = new FormData();
    form.set('model', model);
    form.set('prompt', mark);
    form.set('file', new Blob([head, samples], { type: 'audio/wav' }), 'silence.wav');
    return form;
  };
