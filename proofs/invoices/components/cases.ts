import type { SeededRandom } from '../../../test/system/seeded-random';
import { answerOf, type UsageFigures, type BilledVendor } from './answers';

export type CaseResponse = (vendor: BilledVendor | null, stream: boolean) => string | Buffer;

/** A call and the supplier's response to it. */
export interface ComponentCase {
  readonly number: number;
  readonly name: string;
  readonly path: string;
  readonly body: object | FormData;
  readonly answer: CaseResponse;
  /** Providers that fail for this call. */
  readonly failing: readonly string[];
}

type CaseDraft = Omit<ComponentCase, 'number' | 'body' | 'failing'> & {
  readonly body: (mark: string) => object | FormData;
  readonly failing?: readonly string[];
};
type CaseDialect = 'chat' | 'messages' | 'responses';

/** Always present in what a supplier receives. */
export const markOf = (number: number): string => `call-${String(number).padStart(7, '0')}`;

const paths: Readonly<Record<CaseDialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

function bodyOf(dialect: CaseDialect, model: string, mark: string, rest: object): object {
  const content = `${mark} What does it cost?`;
  if (dialect === 'responses') return { model, input: content, max_output_tokens: 500, ...rest };
  return { model, messages: [{ role: 'user', content }], max_tokens: 500, ...rest };
}

const NO_USAGE: UsageFigures = {
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
  readonly list: CaseDraft[] = [];

  constructor(private readonly chance: SeededRandom) {}

  /** Reasoning counts are odd and cached counts even, so that they cannot be confused. */
  private figures(vendor: BilledVendor, rest: Partial<UsageFigures>): UsageFigures {
    const { chance } = this;
    const randomCount = (maximum: number): number => (chance.flip() ? chance.integer(1, maximum) : 0);
    const isMessages = vendor === 'messages';
    const isTotals = vendor === 'chat' || vendor === 'responses';
    return {
      ...NO_USAGE,
      input: chance.integer(1, 3_500),
      cacheRead: 2 * randomCount(700),
      cacheWrite: vendor === 'gemini' ? 0 : 2 * randomCount(300),
      cacheWriteLong: isMessages ? randomCount(700) : 0,
      audioInput: isMessages ? 0 : randomCount(400),
      image: isMessages ? 0 : randomCount(900),
      output: chance.integer(1, 900),
      reasoning: chance.flip() ? 2 * chance.integer(1, 300) + 1 : 0,
      audioOutput: isTotals ? randomCount(300) : 0,
      imageOutput: isMessages ? 0 : randomCount(500),
      thoughts: isTotals && chance.flip(0.3) ? 'beside' : 'inside',
      ...rest,
    };
  }

  /** Plans the same call non-streaming and streaming. */
  pair(
    name: string,
    dialect: CaseDialect,
    model: string,
    vendor: BilledVendor,
    fixedFigures: Partial<UsageFigures> = {},
    requestFields: object = {},
    failing: readonly string[] = [],
  ): void {
    const figures = this.figures(vendor, fixedFigures);
    for (const stream of [false, true]) {
      this.list.push({
        name: `${name}, ${stream ? 'streamed' : 'whole'}`,
        path: paths[dialect],
        body: (mark) => bodyOf(dialect, model, mark, { stream, ...requestFields }),
        answer: (responseVendor, streamed) => answerOf[responseVendor ?? vendor](figures, streamed),
        failing,
      });
    }
  }

  single(name: string, path: string, body: CaseDraft['body'], answer: object | Buffer): void {
    const bytes = Buffer.isBuffer(answer) ? answer : JSON.stringify(answer);
    this.list.push({ name, path, body, answer: () => bytes });
  }
}

/** Covers every component of every vendor repeatedly with different figures. */
export function planCases(chance: SeededRandom, rounds: number): ComponentCase[] {
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

function ofTokens(drafts: Drafts, chance: SeededRandom): void {
  drafts.pair('chat', 'chat', 'open', 'chat');
  drafts.pair('responses', 'responses', 'open', 'responses');
  drafts.pair('messages', 'messages', 'claude', 'messages');
  const onlyText = { cacheRead: 0, cacheWrite: 0, audioInput: 0, image: 0, audioOutput: 0, imageOutput: 0 };
  const thoughts = 2 * chance.integer(1, 400) + 1;
  drafts.pair('thoughts in the total alone', 'chat', 'compat', 'chat', {
    ...onlyText,
    thoughts: 'total',
    reasoning: thoughts,
  });
}

function ofFees(drafts: Drafts, chance: SeededRandom): void {
  const randomCount = (): number => chance.integer(1, 4);
  const size = chance.pick(['low', 'medium', 'high']);
  const options = { web_search_options: chance.flip() ? {} : { search_context_size: size } };
  drafts.pair('a search in chat', 'chat', 'open', 'chat', {}, options);
  const tools = [
    { type: 'web_search', ...(chance.flip() ? {} : { search_context_size: size }) },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { type: 'code_interpreter', container: { type: 'auto' } },
  ];
  const toolUse = { searches: randomCount(), fileSearches: randomCount(), containers: chance.integer(0, 1) };
  drafts.pair('tools of responses', 'responses', 'open', 'responses', toolUse, { tools });
  const verboseTools = [
    { type: 'web_search_20250305', name: 'web_search', max_uses: 4 },
    { type: 'code_execution_20250825', name: 'code_execution' },
  ];
  const toolRuns = { searches: randomCount(), containers: chance.integer(0, 1) };
  drafts.pair('tools of messages', 'messages', 'claude', 'messages', toolRuns, { tools: verboseTools });
  const tier = chance.pick(['flex', 'priority', 'auto', 'default']);
  // Tier as requested, downgraded, chosen by the supplier, or not reported.
  const reportedTier = chance.pick<Record<string, string>>([
    { service_tier: tier === 'auto' ? 'priority' : tier },
    { service_tier: 'default' },
    {},
  ]);
  drafts.pair('a tier of chat', 'chat', 'open', 'chat', { served: reportedTier }, { service_tier: tier });
  drafts.pair(
    'a tier of responses',
    'responses',
    'open',
    'responses',
    { served: reportedTier },
    { service_tier: tier },
  );
  const modes = {
    ...(chance.flip() ? { speed: 'fast' } : {}),
    ...(chance.flip() ? { inference_geo: 'us' } : {}),
  };
  const servedModes = { ...modes, service_tier: chance.pick(['priority', 'standard']) };
  drafts.pair(
    'speed, place and tier of messages',
    'messages',
    'claude',
    'messages',
    { served: servedModes },
    modes,
  );
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

/** Cheap and expensive lanes of one model. */
function ofLanes(drafts: Drafts, chance: SeededRandom): void {
  const failing = chance.pick([[], ['open-a'], ['open-a', 'open-b']]);
  for (const dialect of ['chat', 'messages', 'responses'] as const) {
    drafts.pair(`${dialect} on one of three lanes`, dialect, 'lanes', 'chat', {}, {}, failing);
  }
}

function ofMedia(drafts: Drafts, chance: SeededRandom): void {
  const { single } = { single: drafts.single.bind(drafts) };
  const data = (length: number): object[] => Array.from({ length }, () => ({ b64_json: 'aGk=' }));
  const images = '/v1/images/generations';
  const [text, image, written] = [chance.integer(1, 500), chance.integer(0, 900), chance.integer(0, 50)];
  const outputTokens = chance.integer(100, 4_000);
  single('pictures by tokens', images, (mark) => ({ model: 'picture-tokens', prompt: mark }), {
    created: 1,
    data: data(1),
    usage: {
      input_tokens: text + image,
      output_tokens: outputTokens + written,
      total_tokens: text + image + outputTokens + written,
      input_tokens_details: { text_tokens: text, image_tokens: image },
      output_tokens_details: { text_tokens: written, image_tokens: outputTokens },
    },
  });
  const kind = { size: chance.pick(['1024x1024', '1024x1792']), ...(chance.flip() ? { quality: 'hd' } : {}) };
  const n = chance.integer(1, 4);
  single(
    'pictures by size and quality',
    images,
    (mark) => ({ model: 'picture-sizes', prompt: mark, n, ...kind }),
    { created: 1, data: data(n) },
  );
  const tokens = chance.integer(1, 9_000);
  single('embeddings', '/v1/embeddings', (mark) => ({ model: 'embed', input: mark }), {
    object: 'list',
    model: 'vendor-model',
    data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
  const results = [{ index: 0, relevance_score: 0.5 }];
  const rank = (model: string) => (mark: string) => ({ model, query: mark, documents: ['one', 'two'] });
  const units = { billed_units: { search_units: chance.integer(1, 3) } };
  single('search units of a rerank', '/v1/rerank', rank('rank'), { id: 'r', results, meta: units });
  single('tokens of a rerank', '/v1/rerank', rank('rank-tokens'), {
    id: 'r',
    results,
    usage: { total_tokens: tokens },
  });
  const seconds = chance.integer(1, 90_000) / 10_000;
  const transcript = { text: 'Hello.' };
  single('minutes of a transcription', '/v1/audio/transcriptions', recording('scribe-minutes'), {
    ...transcript,
    usage: { type: 'duration', seconds },
  });
  const audio = chance.integer(1, 200);
  single('tokens of a transcription', '/v1/audio/transcriptions', recording('scribe-tokens'), {
    ...transcript,
    usage: {
      type: 'tokens',
      input_tokens: audio + 7,
      input_token_details: { text_tokens: 7, audio_tokens: audio },
      output_tokens: 31,
      total_tokens: audio + 38,
    },
  });
  const speechText = 'Zürich 🦊 '.repeat(chance.integer(1, 30));
  single(
    'characters of speech',
    '/v1/audio/speech',
    (mark) => ({ model: 'speak', voice: 'alloy', input: mark + speechText }),
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
