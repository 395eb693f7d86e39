import type { ModelKind } from '../../catalogue';
import { type AskedFees, type Fault, fault, type JsonFields, usageOf, type UsageReading } from '../../kernel';
import {
  type AllowedTool,
  type AnswerCheck,
  type AnswerForm,
  askedFees,
  checkCompletionsAnswer,
  checkEmbeddingsAnswer,
  checkRerankAnswer,
  checkSpeechAnswer,
  checkTranscriptionAnswer,
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
  recordsIn,
} from '../../protocol';
import type { OperationName, WireDialect } from '../../routing';
import { pictureFees, pictureKey } from '../media/pictures';
import { completionBytes, completionsAsked, USUAL_COMPLETION_TOKENS } from './answer-shapes/completions';
import { inAskedEncoding } from './answer-shapes/embeddings-encoding';
import { ranked, rerankTextBound, searchUnitsBound } from './answer-shapes/rerank-order';
import {
  alwaysStreamed,
  besideStream,
  type Bounds,
  choice,
  filled,
  foreground,
  inputs,
  items,
  notStreamed,
  number,
  numberText,
  pieces,
  text as plainText,
  textOrPieces,
  voice,
  whole,
} from './bounds';
import { tooLongToEmbed } from './embedding-length';

/** An inference route: its rules, and how its answers are counted. */
export interface Operation {
  readonly name: OperationName;
  /** Models of this kind may answer here. */
  readonly kind: ModelKind;
  /** The fields that bound the output, the one that counts first. */
  readonly limitFields: readonly string[];
  /** The field that holds what is asked, which must not be empty. */
  readonly asked: string;
  /** These bounds of its fields are checked in this order. */
  readonly bounds: Bounds;
  /** A valid request is certainly too long for a model; null where only its supplier can tell. */
  readonly tooLong?: (body: JsonFields, contextTokens: number | null) => Fault | null;
  /** Its answers may be stored for the caller, and later requests may refer to them. */
  readonly keepsAnswers?: true;
  /** The request is forwarded unchanged: no output limit can be inserted. */
  readonly untouched?: true;
  /** The request is a recording, in a form; everywhere else it is JSON. */
  readonly takesForm?: true;
  /** The request is a text to be spoken. */
  readonly speaks?: true;
  /** A valid request asks for so many answers, where it is not `n`. */
  readonly choices?: (request: JsonFields) => number;
  /** The most calls it can be charged for, where it is not the number of answers. */
  readonly calls?: (request: JsonFields, bytes: number) => number;
  /** The most tokens its text is read as, where some of it is read more than once. */
  readonly textBound?: (request: JsonFields, bytes: number) => number;
  /** The bound on each answer when the caller names none; without it, the model's own. */
  readonly usualOutput?: number;
  /** Suppliers insist on these fields, which callers may leave out. */
  readonly defaults?: JsonFields;
  /** A request may make a supplier bill these fees beside tokens, where there are any. */
  readonly fees?: (request: JsonFields, choices: number, tools: readonly AllowedTool[]) => AskedFees;
  /** The usage of a whole answer comes from its own report, or from what the request asked for. */
  readonly usageIn: (answer: JsonFields | null, request: JsonFields) => UsageReading;
  /** The check tells the reason why a supplier's JSON is not a valid answer of this route. */
  readonly checkAnswer: AnswerCheck;
  /** The answer is sound or plain text; null in place of a body then. */
  readonly answersRaw?: (request: JsonFields) => boolean;
  /** A whole answer holds so many bytes of text, for when its supplier reports no usage. */
  readonly writtenIn?: (answer: JsonFields) => number;
  /** The fields that a whole answer has in any case. */
  readonly form?: AnswerForm;
  /** A whole answer in the shape the caller asked for; unchanged where the supplier used it already. */
  readonly shape?: (answer: JsonFields, request: JsonFields) => JsonFields;
}

/** Generated text: may be streamed, and is translated for suppliers of another dialect. */
export interface TextOperation extends Operation {
  readonly name: DialectName | 'native' | 'completions';
  readonly dialect: Dialect;
}

/** The supplier speaks the caller's dialect: nothing is translated. */
export const isSpoken = (operation: Operation, wire: WireDialect | undefined): boolean =>
  wire === operation.name || (isText(operation) && wire === operation.dialect.name);

/** One conversation that one call of a model reads: it can be no longer than the model's window. */
export const isConversation = (operation: Operation): operation is TextOperation =>
  isText(operation) && operation.name !== 'completions';

export const isText = (operation: Operation): operation is TextOperation => 'dialect' in operation;

/** It narrows to what only generated text goes through. */
export function textOperation(operation: Operation): TextOperation {
  if (isText(operation)) return operation;
  throw fault('internal_error');
}

const sampling = (hottest: number): Bounds => ({ temperature: number(0, hottest), top_p: number(0, 1) });

const chatBounds: Bounds = {
  ...sampling(2),
  frequency_penalty: number(-2, 2),
  presence_penalty: number(-2, 2),
  stream_options: besideStream,
};

const text = (name: DialectName, bounds: Bounds, asked: string, ...limitFields: string[]): TextOperation => ({
  name,
  dialect: dialects[name],
  form: name,
  kind: 'chat',
  limitFields,
  asked,
  bounds,
  fees: (body, choices, tools) => askedFees(name, { body, choices, tools }),
  usageIn: (answer) => dialects[name].usageIn(answer),
  checkAnswer: dialects[name].checkAnswer,
});

/** It has one request and one answer, in one format for all suppliers. */
const shot = (
  name: OperationName,
  kind: ModelKind,
  bounds: Bounds,
  asked: string,
  checkAnswer: AnswerCheck,
  usageIn: Operation['usageIn'],
): Operation => ({
  name,
  kind,
  limitFields: [],
  asked,
  bounds: { stream: notStreamed, ...bounds },
  checkAnswer,
  usageIn,
});

const byCall = (calls: number): UsageReading => ({ kind: 'ok', usage: usageOf({ calls }) });

/** Images are sold by tokens, by the piece, or by size: the price decides which unit is billed. */
function pictureUsage(answer: JsonFields | null, request: JsonFields): UsageReading {
  const made = Array.isArray(answer?.data) ? Math.max(1, answer.data.length) : 1;
  const images = { [pictureKey(answer, request)]: made };
  const reading = normaliseImageUsage(findImageUsage(answer));
  // The pictures are there, whatever is said of them.
  const unread = reading.kind === 'invalid' ? { ignored: [reading.field] } : {};
  const reported = reading.kind === 'ok' ? reading.usage : { ...usageOf({}), ...unread };
  return { kind: 'ok', usage: { ...reported, calls: made, images } };
}

/** A complete message counts as a delta; every choice counts. */
function writtenInChat(answer: JsonFields): number {
  const watcher = dialects.chat.streamWatcher(true);
  watcher.watch(answer);
  return watcher.outputBytes;
}

/** No picture of a model that is sold by tokens has more. */
const USUAL_PICTURE_TOKENS = 16_384;

const recordingBounds: Bounds = {
  response_format: choice('json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'),
  temperature: numberText(0, 1),
};

/** The answer has the words of a recording, in its own language or in English. */
const spoken = (name: 'transcription' | 'translation'): Operation => ({
  ...shot(name, 'transcription', recordingBounds, 'file', checkTranscriptionAnswer, (answer) =>
    normaliseTranscriptionUsage(findTranscriptionUsage(answer)),
  ),
  takesForm: true,
  answersRaw: ({ response_format: format }) => format === 'text' || format === 'srt' || format === 'vtt',
  writtenIn: ({ text: said }) => (typeof said === 'string' ? Buffer.byteLength(said) : 0),
});

const ofResponses: Bounds = { background: foreground, instructions: plainText };

export const operations = {
  chat: {
    ...text('chat', chatBounds, 'messages', 'max_completion_tokens', 'max_tokens'),
    writtenIn: writtenInChat,
  },
  messages: text('messages', sampling(1), 'messages', 'max_tokens'),
  responses: {
    ...text('responses', { ...sampling(2), ...ofResponses }, 'input', 'max_output_tokens'),
    keepsAnswers: true,
  },
  /** Responses for agents: streamed only, and only to suppliers of the same dialect. */
  native: {
    ...text(
      'responses',
      { stream: alwaysStreamed, input: items, ...ofResponses },
      'input',
      'max_output_tokens',
    ),
    name: 'native',
    untouched: true,
  },
  /** The older text completions: never translated; errors and usage as in chat. */
  completions: {
    ...text('chat', { ...chatBounds, prompt: inputs, best_of: whole(1, 20) }, 'prompt', 'max_tokens'),
    name: 'completions',
    form: 'completions',
    choices: completionsAsked,
    usualOutput: USUAL_COMPLETION_TOKENS,
    defaults: { max_tokens: USUAL_COMPLETION_TOKENS },
    writtenIn: completionBytes,
    checkAnswer: checkCompletionsAnswer,
  },
  embeddings: {
    ...shot(
      'embeddings',
      'embedding',
      { input: inputs, encoding_format: choice('float', 'base64'), dimensions: whole(1, 1_000_000) },
      'input',
      checkEmbeddingsAnswer,
      (answer) => normaliseEmbeddingsUsage(findEmbeddingsUsage(answer)),
    ),
    form: 'embeddings',
    tooLong: ({ input }: JsonFields, contextTokens: number | null) => tooLongToEmbed(input, contextTokens),
    shape: inAskedEncoding,
  },
  rerank: {
    ...shot(
      'rerank',
      'rerank',
      { query: filled(), top_n: whole(1, 1_000_000), documents: pieces },
      'documents',
      checkRerankAnswer,
      (answer) => {
        const reported = normaliseRerankUsage(findRerankUsage(answer));
        // Sold by the call where nothing is reported.
        return reported.kind === 'absent' ? byCall(1) : reported;
      },
    ),
    calls: searchUnitsBound,
    textBound: rerankTextBound,
    shape: ranked,
  },
  transcription: { ...spoken('transcription'), defaults: { model: 'whisper' } },
  translation: spoken('translation'),
  speech: {
    ...shot(
      'speech',
      'speech',
      {
        input: filled(4_096),
        instructions: plainText,
        speed: number(0.25, 4),
        response_format: choice('mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'),
        stream_format: choice('audio'),
        voice,
      },
      'input',
      checkSpeechAnswer,
      () => ({ kind: 'absent' }),
    ),
    speaks: true,
    defaults: { response_format: 'mp3' },
    answersRaw: () => true,
  },
  image: {
    ...shot(
      'image',
      'image',
      { prompt: filled(32_000), n: whole(1, 10) },
      'prompt',
      recordsIn('data', 'images'),
      pictureUsage,
    ),
    usualOutput: USUAL_PICTURE_TOKENS,
    fees: pictureFees,
  },
  moderation: shot('moderation', 'moderation', { input: textOrPieces }, 'input', recordsIn('results'), () =>
    byCall(1),
  ),
} as const;
