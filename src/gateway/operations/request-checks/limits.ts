import { type Fault, fault, type JsonFields } from '../../../kernel';

/**
 * Bounds of each route, no tighter than any supplier's; checked by hand, a few comparisons a request. The supplier
 * validates everything else.
 */

const MOST_INPUTS = 2_048;
const MOST_SPEECH_CHARACTERS = 4_096;
const MOST_PROMPT_CHARACTERS = 32_000;

export function checkChat(body: JsonFields): void {
  checkSampling(body, 2);
  numberWithin(body.frequency_penalty, 'frequency_penalty', -2, 2);
  numberWithin(body.presence_penalty, 'presence_penalty', -2, 2);
  checkStreamOptions(body);
}

export const checkMessages = (body: JsonFields): void => checkSampling(body, 1);

export function checkResponses(body: JsonFields): void {
  checkSampling(body, 2);
  checkForeground(body);
}

/** Background answers are fetched later and could not be charged. */
export function checkForeground({ background }: JsonFields): void {
  if (background !== true) return;
  throw fault('unsupported_parameter', {
    param: 'background',
    message: 'background is not supported: leave it out, and the answer comes with the request.',
  });
}

export function checkCompletions(body: JsonFields): void {
  checkChat(body);
  checkInputs('prompt', body.prompt);
  numberWithin(body.best_of, 'best_of', 1, 20, true);
}

export function checkEmbeddings(body: JsonFields): void {
  checkInputs('input', body.input);
  oneOf(body, 'encoding_format', ['float', 'base64']);
  numberWithin(body.dimensions, 'dimensions', 1, 1_000_000, true);
}

export function checkRerank(body: JsonFields): void {
  textWithin(body, 'query', Infinity);
  numberWithin(body.top_n, 'top_n', 1, 1_000_000, true);
  if (!Array.isArray(body.documents)) throw invalid('documents', 'must be a list of texts or objects');
  body.documents.forEach((document: unknown, at) => {
    if (typeof document === 'string' || isObject(document)) return;
    throw invalid(`documents[${at}]`, 'must be a text or an object');
  });
}

const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'];

export function checkSpeech(body: JsonFields): void {
  textWithin(body, 'input', MOST_SPEECH_CHARACTERS);
  numberWithin(body.speed, 'speed', 0.25, 4);
  oneOf(body, 'response_format', SPEECH_FORMATS);
  oneOf(body, 'stream_format', ['audio']);
  const { voice } = body;
  if (isAbsent(voice) || isFilled(voice) || (isObject(voice) && isFilled(Reflect.get(voice, 'id')))) return;
  throw invalid('voice', 'must be the name of a voice, or an object with its id');
}

export function checkImage(body: JsonFields): void {
  textWithin(body, 'prompt', MOST_PROMPT_CHARACTERS);
  numberWithin(body.n, 'n', 1, 10, true);
  checkNotStreamed(body);
}

export function checkModeration({ input }: JsonFields): void {
  if (!Array.isArray(input)) return;
  input.forEach((item: unknown, at) => {
    if (typeof item === 'string' || isObject(item)) return;
    throw invalid(`input[${at}]`, 'must be a text or an object');
  });
}

const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'];

/** The fields of a form are texts. */
export function checkTranscription(body: JsonFields): void {
  oneOf(body, 'response_format', TRANSCRIPT_FORMATS);
  checkNotStreamed(body);
  const { temperature } = body;
  if (isAbsent(temperature)) return;
  const number = temperature === '' ? NaN : Number(temperature);
  if (!(number >= 0 && number <= 1)) throw invalid('temperature', 'must be a number from 0 to 1');
}

function checkSampling(body: JsonFields, hottest: number): void {
  numberWithin(body.temperature, 'temperature', 0, hottest);
  numberWithin(body.top_p, 'top_p', 0, 1);
}

function checkStreamOptions({ stream, stream_options: options }: JsonFields): void {
  if (isAbsent(options) || (isObject(options) && stream === true)) return;
  throw invalid('stream_options', 'must be an object, and stands only beside stream: true');
}

/** Answers of this route are whole; some servers take any word for yes that is not a plain no. */
export function checkNotStreamed({ stream }: JsonFields): void {
  if (isAbsent(stream) || stream === false || stream === 'false') return;
  throw fault('unsupported_parameter', {
    param: 'stream',
    message: 'Answers of this route are not streamed.',
  });
}

/** A text, a list of texts, a list of tokens or a list of such lists; none of them empty. */
function checkInputs(param: string, value: unknown): void {
  if (!Array.isArray(value) || isTokens(value)) return;
  if (value.length > MOST_INPUTS) {
    throw invalid(param, `may have at most ${MOST_INPUTS.toLocaleString('en')} items`);
  }
  value.forEach((item: unknown, at) => {
    if (isFilled(item) || (Array.isArray(item) && isTokens(item))) return;
    throw invalid(`${param}[${at}]`, 'must be a text or a list of tokens, and not empty');
  });
}

const isTokens = (list: readonly unknown[]): boolean =>
  list.length > 0 && list.every((item) => typeof item === 'number' && Number.isInteger(item) && item >= 0);

function textWithin(body: JsonFields, param: string, most: number): void {
  const value = body[param];
  if (!isFilled(value)) throw invalid(param, 'must be a text, and not empty');
  // A character may take two units; counting them is worth it only where it can matter.
  if (value.length <= most || Array.from(value).length <= most) return;
  throw invalid(param, `may have at most ${most.toLocaleString('en')} characters`);
}

function numberWithin(value: unknown, param: string, least: number, most: number, isWhole = false): void {
  if (isAbsent(value)) return;
  if (typeof value === 'number' && value >= least && value <= most && (!isWhole || Number.isInteger(value)))
    return;
  throw invalid(
    param,
    `must be a ${isWhole ? 'whole ' : ''}number from ${least} to ${most.toLocaleString('en')}`,
  );
}

function oneOf(body: JsonFields, param: string, allowed: readonly string[]): void {
  const value = body[param];
  if (isAbsent(value) || (typeof value === 'string' && allowed.includes(value))) return;
  throw invalid(param, `must be one of: ${allowed.join(', ')}`);
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;
const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const invalid = (param: string, rule: string): Fault =>
  fault('invalid_request', { param, message: `${param} ${rule}.` });
