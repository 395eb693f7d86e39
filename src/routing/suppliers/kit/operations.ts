import type { OperationName, WireDialect } from '#extension';
import { bodyFields } from '../../../vendors';

export type { OperationName, WireDialect };

interface OperationSpec {
  /** Path on servers in the style of OpenAI. */
  readonly path?: string;
  /** Fields of the API that callers use; form fields without list marks. */
  readonly fields: readonly string[];
  /** Minimal body of a connectivity test, without the model. */
  readonly probe?: ProbeTemplate;
}

interface ProbeTemplate {
  readonly body: Readonly<Record<string, unknown>>;
  /** The list that a valid response must contain. */
  readonly list: string;
}

export const fields = (...lists: readonly string[]): readonly string[] =>
  lists.flatMap((list) => list.split(/\s+/));

const PROBE_TEXT = 'ping';
/** The minimum that every supplier accepts. */
const MIN_OUTPUT_TOKENS = 16;
const greeting = { messages: [{ role: 'user', content: PROBE_TEXT }], max_tokens: MIN_OUTPUT_TOKENS };

const messages = bodyFields('messages');
const responses = bodyFields('responses');
const form = fields(
  `chunking_strategy file include keywords known_speaker_names known_speaker_references language languages prompt
   response_format stream temperature timestamp_granularities`,
);

/** Operations of suppliers, in the order in which a connectivity test tries them. */
export const OPERATIONS: Readonly<Record<OperationName, OperationSpec>> = {
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
    probe: { body: { input: PROBE_TEXT, max_output_tokens: MIN_OUTPUT_TOKENS }, list: 'output' },
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
    probe: { body: { input: PROBE_TEXT }, list: 'data' },
  },
  rerank: {
    path: '/rerank',
    fields: fields(
      'documents max_chunks_per_doc max_tokens_per_doc query rank_fields return_documents top_n',
    ),
    probe: { body: { query: PROBE_TEXT, documents: [PROBE_TEXT] }, list: 'results' },
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
    probe: { body: { input: PROBE_TEXT }, list: 'results' },
  },
};

export const operationNames = Object.keys(OPERATIONS) as OperationName[];

const gemini: ProbeTemplate = {
  body: {
    contents: [{ role: 'user', parts: [{ text: PROBE_TEXT }] }],
    generationConfig: { maxOutputTokens: MIN_OUTPUT_TOKENS },
  },
  list: 'candidates',
};

export const probeFor = (wire: WireDialect): ProbeTemplate | undefined =>
  wire === 'gemini' ? gemini : OPERATIONS[wire].probe;
