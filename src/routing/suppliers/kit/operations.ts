import type { OperationName, WireDialect } from '#extension';
import { bodyFields } from '../../../vendors';

export type { OperationName, WireDialect };

/** What is known of an operation, whoever serves it. */
interface OperationFacts {
  /** Servers in the style of OpenAI are asked for it here. */
  readonly path?: string;
  /** What the interface describes that callers speak to us in; a form's fields without the marks of a list. */
  readonly fields: readonly string[];
  /** What a connectivity test asks for beside the model: as little as the form allows. */
  readonly probe?: Probe;
}

interface Probe {
  readonly body: Readonly<Record<string, unknown>>;
  /** The list that an answer cannot do without. */
  readonly list: string;
}

export const fields = (...lists: readonly string[]): readonly string[] =>
  lists.flatMap((list) => list.split(/\s+/));

const WORD = 'ping';
/** The least that every supplier takes. */
const FEW_TOKENS = 16;
const greeting = { messages: [{ role: 'user', content: WORD }], max_tokens: FEW_TOKENS };

const messages = bodyFields('messages');
const responses = bodyFields('responses');
const form = fields(
  `chunking_strategy file include keywords known_speaker_names known_speaker_references language languages prompt
   response_format stream temperature timestamp_granularities`,
);

/** What a caller asks of a supplier. A connectivity test tries them in this order. */
export const OPERATIONS: Readonly<Record<OperationName, OperationFacts>> = {
  chat: {
    path: '/chat/completions',
    fields: bodyFields('chat'),
    probe: { body: greeting, list: 'choices' },
  },
  messages: { fields: messages, probe: { body: greeting, list: 'content' } },
  count_tokens: { fields: messages },
  responses: {
    path: '/responses',
    fields: responses,
    probe: { body: { input: WORD, max_output_tokens: FEW_TOKENS }, list: 'output' },
  },
  native: { fields: responses },
  completions: {
    path: '/completions',
    fields: fields(
      `best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty prompt seed stop stream
       stream_options suffix temperature top_p`,
    ),
  },
  embeddings: {
    path: '/embeddings',
    fields: fields('dimensions encoding_format input'),
    probe: { body: { input: WORD }, list: 'data' },
  },
  rerank: {
    path: '/rerank',
    fields: fields(
      'documents max_chunks_per_doc max_tokens_per_doc query rank_fields return_documents top_n',
    ),
    probe: { body: { query: WORD, documents: [WORD] }, list: 'results' },
  },
  speech: {
    path: '/audio/speech',
    fields: fields('input instructions response_format speed stream_format voice'),
  },
  transcription: { path: '/audio/transcriptions', fields: form },
  translation: { path: '/audio/translations', fields: form },
  image: {
    path: '/images/generations',
    fields: fields(
      `background moderation n output_compression output_format partial_images prompt quality response_format size
       stream style`,
    ),
  },
  moderation: {
    path: '/moderations',
    fields: fields('input'),
    probe: { body: { input: WORD }, list: 'results' },
  },
};

export const operationNames = Object.keys(OPERATIONS) as OperationName[];

const gemini: Probe = {
  body: {
    contents: [{ role: 'user', parts: [{ text: WORD }] }],
    generationConfig: { maxOutputTokens: FEW_TOKENS },
  },
  list: 'candidates',
};

export const probeIn = (wire: WireDialect): Probe | undefined =>
  wire === 'gemini' ? gemini : OPERATIONS[wire].probe;
