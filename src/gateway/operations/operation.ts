import type { ModelKind } from '../../catalogue';
import {
  type RequestedFees,
  type Fault,
  fault,
  type JsonFields,
  usageOf,
  type UsageReading,
} from '../../kernel';
import {
  type AllowedTool,
  type ResponseCheck,
  type ResponseKind,
  requestedFees,
  checkCompletionsResponse,
  checkEmbeddingsResponse,
  checkRerankResponse,
  checkSpeechResponse,
  checkTranscriptionResponse,
  type Dialect,
  type DialectName,
  dialects,
  findEmbeddingsUsage,
  findImageUsage,
  findRerankUsage,
  findTranscriptionUsage,
  normaliseEmbeddingsUsage,
  normaliseImageUsage,
  normaliseRerankUsage,
  normaliseTranscriptionUsage,
  requireRecords,
} from '../../protocol';
import type { OperationName, WireDialect } from '../../routing';
import { pictureFees, pictureKey } from '../media/pictures';
import { completionBytes, countCompletions, DEFAULT_COMPLETION_TOKENS } from './answer-shapes/completions';
import { toRequestedEncoding } from './answer-shapes/embeddings-encoding';
import { normaliseRanking, rerankTextBound, searchUnitsBound } from './answer-shapes/rerank-order';
import {
  alwaysStreamedField,
  streamOptionsField,
  type FieldRules,
  enumField,
  requiredTextField,
  foregroundField,
  inputsField,
  itemsField,
  notStreamedField,
  numberField,
  numberTextField,
  listField,
  textField as plainText,
  textOrListField,
  voiceField,
  integerField,
} from './field-rules';
import { embeddingLengthError } from './embedding-length';

export interface GatewayOperation {
  readonly name: OperationName;
  readonly kind: ModelKind;
  readonly limitFields: readonly string[];
  readonly asked: string;
  readonly bounds: FieldRules;
  readonly tooLong?: (body: JsonFields, contextTokens: number | null) => Fault | null;
  readonly keepsAnswers?: true;
  /** Set if requests are forwarded unchanged, so that no output limit can be inserted. */
  readonly untouched?: true;
  readonly takesForm?: true;
  readonly speaks?: true;
  readonly choices?: (request: JsonFields) => number;
  /** Maximum number of billable calls, if not the number of choices. */
  readonly calls?: (request: JsonFields, bytes: number) => number;
  readonly textBound?: (request: JsonFields, bytes: number) => number;
  /** Output limit per choice if the caller sets none; defaults to the model's. */
  readonly usualOutput?: number;
  /** Values of fields that suppliers require but callers can leave out. */
  readonly defaults?: JsonFields;
  readonly fees?: (request: JsonFields, choices: number, tools: readonly AllowedTool[]) => RequestedFees;
  readonly usageIn: (answer: JsonFields | null, request: JsonFields) => UsageReading;
  /** Returns the reason why a supplier's JSON is not a valid response of this route. */
  readonly checkAnswer: ResponseCheck;
  /** Returns true if the response is audio or plain text; the body is passed as null then. */
  readonly answersRaw?: (request: JsonFields) => boolean;
  readonly writtenIn?: (answer: JsonFields) => number;
  readonly form?: ResponseKind;
  readonly shape?: (answer: JsonFields, request: JsonFields) => JsonFields;
}

export interface TextOperation extends GatewayOperation {
  readonly name: DialectName | 'native' | 'completions';
  readonly dialect: Dialect;
}

/** Returns true if the supplier uses the caller's dialect, so that nothing is converted. */
export const isPassThrough = (operation: GatewayOperation, wire: WireDialect | undefined): boolean =>
  wire === operation.name || (isText(operation) && wire === operation.dialect.name);

/** Returns true for a conversation read by one model call, which is limited to the model's window. */
export const isConversation = (operation: GatewayOperation): operation is TextOperation =>
  isText(operation) && operation.name !== 'completions';

export const isText = (operation: GatewayOperation): operation is TextOperation => 'dialect' in operation;

export function textOperation(operation: GatewayOperation): TextOperation {
  if (isText(operation)) return operation;
  throw fault('internal_error');
}

const samplingRules = (maxTemperature: number): FieldRules => ({
  temperature: numberField(0, maxTemperature),
  top_p: numberField(0, 1),
});

const chatRules: FieldRules = {
  ...samplingRules(2),
  frequency_penalty: numberField(-2, 2),
  presence_penalty: numberField(-2, 2),
  stream_options: streamOptionsField,
};

const textOperationOf = (
  name: DialectName,
  bounds: FieldRules,
  inputField: string,
  ...limitFields: string[]
): TextOperation => ({
  name,
  dialect: dialects[name],
  form: name,
  kind: 'chat',
  limitFields,
  asked: inputField,
  bounds,
  fees: (body, choices, tools) => requestedFees(name, { body, choices, tools }),
  usageIn: (answer) => dialects[name].usageIn(answer),
  checkAnswer: dialects[name].checkAnswer,
});

const singleShot = (
  name: OperationName,
  kind: ModelKind,
  bounds: FieldRules,
  inputField: string,
  checkAnswer: ResponseCheck,
  usageIn: GatewayOperation['usageIn'],
): GatewayOperation => ({
  name,
  kind,
  limitFields: [],
  asked: inputField,
  bounds: { stream: notStreamedField, ...bounds },
  checkAnswer,
  usageIn,
});

const usageByCalls = (calls: number): UsageReading => ({ kind: 'ok', usage: usageOf({ calls }) });

/** Usage of images in all three units: tokens, pieces and sizes. The price decides which is billed. */
function pictureUsage(answer: JsonFields | null, request: JsonFields): UsageReading {
  const imageCount = Array.isArray(answer?.data) ? Math.max(1, answer.data.length) : 1;
  const images = { [pictureKey(answer, request)]: imageCount };
  const reading = normaliseImageUsage(findImageUsage(answer));
  // The images were generated, even if the reported usage is invalid.
  const ignoredFields = reading.kind === 'invalid' ? { ignored: [reading.field] } : {};
  const reported = reading.kind === 'ok' ? reading.usage : { ...usageOf({}), ...ignoredFields };
  return { kind: 'ok', usage: { ...reported, calls: imageCount, images } };
}

/** A complete message counts as a delta, and every choice counts. */
function chatTextBytes(answer: JsonFields): number {
  const watcher = dialects.chat.streamWatcher(true);
  watcher.watch(answer);
  return watcher.outputBytes;
}

/** More than the tokens of any picture from a model sold by tokens. */
const MAX_PICTURE_TOKENS = 16_384;

const recordingRules: FieldRules = {
  response_format: enumField('json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'),
  temperature: numberTextField(0, 1),
};

const transcriptOperation = (name: 'transcription' | 'translation'): GatewayOperation => ({
  ...singleShot(name, 'transcription', recordingRules, 'file', checkTranscriptionResponse, (answer) =>
    normaliseTranscriptionUsage(findTranscriptionUsage(answer)),
  ),
  takesForm: true,
  answersRaw: ({ response_format: format }) => format === 'text' || format === 'srt' || format === 'vtt',
  writtenIn: ({ text: transcript }) => (typeof transcript === 'string' ? Buffer.byteLength(transcript) : 0),
});

const responsesRules: FieldRules = { background: foregroundField, instructions: plainText };

export const operations = {
  chat: {
    ...textOperationOf('chat', chatRules, 'messages', 'max_completion_tokens', 'max_tokens'),
    writtenIn: chatTextBytes,
  },
  messages: textOperationOf('messages', samplingRules(1), 'messages', 'max_tokens'),
  responses: {
    ...textOperationOf('responses', { ...samplingRules(2), ...responsesRules }, 'input', 'max_output_tokens'),
    keepsAnswers: true,
  },
  /** Responses for agents: streaming only, and only to suppliers of the same dialect. */
  native: {
    ...textOperationOf(
      'responses',
      { stream: alwaysStreamedField, input: itemsField, ...responsesRules },
      'input',
      'max_output_tokens',
    ),
    name: 'native',
    untouched: true,
  },
  /** Legacy text completions: never converted; errors and usage as in chat. */
  completions: {
    ...textOperationOf(
      'chat',
      { ...chatRules, prompt: inputsField, best_of: integerField(1, 20) },
      'prompt',
      'max_tokens',
    ),
    name: 'completions',
    form: 'completions',
    choices: countCompletions,
    usualOutput: DEFAULT_COMPLETION_TOKENS,
    defaults: { max_tokens: DEFAULT_COMPLETION_TOKENS },
    writtenIn: completionBytes,
    checkAnswer: checkCompletionsResponse,
  },
  embeddings: {
    ...singleShot(
      'embeddings',
      'embedding',
      {
        input: inputsField,
        encoding_format: enumField('float', 'base64'),
        dimensions: integerField(1, 1_000_000),
      },
      'input',
      checkEmbeddingsResponse,
      (answer) => normaliseEmbeddingsUsage(findEmbeddingsUsage(answer)),
    ),
    form: 'embeddings',
    tooLong: ({ input }: JsonFields, contextTokens: number | null) =>
      embeddingLengthError(input, contextTokens),
    shape: toRequestedEncoding,
  },
  rerank: {
    ...singleShot(
      'rerank',
      'rerank',
      { query: requiredTextField(), top_n: integerField(1, 1_000_000), documents: listField },
      'documents',
      checkRerankResponse,
      (answer) => {
        const reported = normaliseRerankUsage(findRerankUsage(answer));
        // Sold per call if nothing is reported.
        return reported.kind === 'absent' ? usageByCalls(1) : reported;
      },
    ),
    calls: searchUnitsBound,
    textBound: rerankTextBound,
    shape: normaliseRanking,
  },
  transcription: { ...transcriptOperation('transcription'), defaults: { model: 'whisper' } },
  translation: transcriptOperation('translation'),
  speech: {
    ...singleShot(
      'speech',
      'speech',
      {
        input: requiredTextField(4_096),
        instructions: plainText,
        speed: numberField(0.25, 4),
        response_format: enumField('mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'),
        stream_format: enumField('audio'),
        voice: voiceField,
      },
      'input',
      checkSpeechResponse,
      () => ({ kind: 'absent' }),
    ),
    speaks: true,
    defaults: { response_format: 'mp3' },
    answersRaw: () => true,
  },
  image: {
    ...singleShot(
      'image',
      'image',
      { prompt: requiredTextField(32_000), n: integerField(1, 10) },
      'prompt',
      requireRecords('data', 'images'),
      pictureUsage,
    ),
    usualOutput: MAX_PICTURE_TOKENS,
    fees: pictureFees,
  },
  moderation: singleShot(
    'moderation',
    'moderation',
    { input: textOrListField },
    'input',
    requireRecords('results'),
    () => usageByCalls(1),
  ),
} as const;
