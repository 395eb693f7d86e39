import { errorReply } from './complaint';
import { hashText, randomFrom } from './hash';
import { listOf, numberOf, textOf, type JsonObject } from './json';
import { jsonReply, type Reply } from './reply';
import type { Handler } from './route';
import { checkOpenaiModel } from './strict/strict-chat';
import {
  fieldSet,
  firstOf,
  invalidValue,
  missingParameter,
  numberWithin,
  unknownParameter,
  type Check,
} from './strict/strict';
import { countTokens } from './tokens';
import { inputUsage } from './usage';

const fields = fieldSet('model input encoding_format dimensions user');
const DEFAULT_DIMENSIONS = 256;
const MAX_INPUTS = 2048;
const MAX_TOKENS = 8192;

export const embeddings: Handler = ({ body, settings, usageVariant }): Reply => {
  const complaint = checkEmbeddings(body) ?? checkOpenaiModel(body['model'], settings);
  if (complaint) return errorReply('openai', complaint);
  const model = textOf(body['model']);
  // Some vendors return floats only and ignore the requested encoding.
  const isBase64 = body['encoding_format'] === 'base64' && !model.includes('floats');
  const dimensions = numberOf(body['dimensions']) ?? DEFAULT_DIMENSIONS;
  const inputs = inputsOf(body['input']);
  const data = inputs.map((input, index) => {
    const vector = vectorOf(inputText(input), dimensions);
    return { object: 'embedding', index, embedding: isBase64 ? encode(vector) : Array.from(vector) };
  });
  const tokens = inputs.reduce<number>((sum, input) => sum + inputTokens(input), 0);
  return jsonReply({ object: 'list', data, model, usage: inputUsage(tokens, usageVariant) });
};

/** Returns a unit vector of 32-bit floats; equal for equal texts. */
function vectorOf(text: string, dimensions: number): Float32Array {
  const next = randomFrom(hashText(text));
  const vector = Float32Array.from({ length: dimensions }, () => next() * 2 - 1);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Encodes as little-endian on every machine. */
function encode(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}

/** Accepts a string, a token list, or a list of either. */
function inputsOf(input: unknown): readonly unknown[] {
  const isSingle = typeof input === 'string' || typeof listOf(input)[0] === 'number';
  return isSingle ? [input] : listOf(input);
}

function inputText(input: unknown): string {
  return typeof input === 'string' ? input : listOf(input).join(',');
}

function inputTokens(input: unknown): number {
  return typeof input === 'string' ? countTokens(input) : listOf(input).length;
}

function checkEmbeddings(body: JsonObject): Check {
  const { input, encoding_format: format } = body;
  if (input === undefined) return missingParameter('input');
  const inputs = inputsOf(input);
  if (inputs.length === 0 || inputs.length > MAX_INPUTS) {
    return invalidValue('input', `Invalid 'input': expected 1 to ${MAX_INPUTS} items.`);
  }
  return (
    unknownParameter(body, fields) ??
    (format === undefined || format === 'float' || format === 'base64'
      ? undefined
      : invalidValue('encoding_format', "Invalid value. Supported values are: 'float' and 'base64'.")) ??
    numberWithin(body, 'dimensions', 1, 4096, true) ??
    firstOf(inputs, checkInput)
  );
}

function checkInput(input: unknown, index: number): Check {
  const tokens = inputTokens(input);
  if (tokens === 0)
    return invalidValue(`input[${index}]`, `Invalid 'input[${index}]': input cannot be an empty string.`);
  if (tokens <= MAX_TOKENS) return undefined;
  return {
    message: `This model's maximum context length is ${MAX_TOKENS} tokens, however you requested ${tokens} tokens.`,
    code: 'context_length_exceeded',
    param: `input[${index}]`,
  };
}
