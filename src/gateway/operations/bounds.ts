import { type Fault, fault, type JsonFields, type Schema } from '../../kernel';

/**
 * A route checks this of a field, and says it in OpenAPI. No bound is tighter than any supplier's; the
 * supplier validates everything else. They are checked by hand: a few comparisons a request.
 */
export interface Bound {
  readonly schema: Schema;
  readonly check: (value: unknown, name: string, body: JsonFields) => void;
}

export type Bounds = Readonly<Record<string, Bound>>;

export function checkBounds(bounds: Bounds, body: JsonFields): void {
  for (const name in bounds) bounds[name]?.check(body[name], name, body);
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;
const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const invalid = (name: string, rule: string): Fault =>
  fault('invalid_request', { param: name, message: `${name} ${rule}.` });

/** It may be left out; what is given has to be this. */
const given = (
  schema: Schema,
  rule: string,
  isRight: (value: unknown, body: JsonFields) => boolean,
): Bound => ({
  schema,
  check: (value, name, body) => {
    if (!isAbsent(value) && !isRight(value, body)) throw invalid(name, rule);
  },
});

export const number = (minimum: number, maximum: number): Bound =>
  given(
    { type: 'number', minimum, maximum },
    `must be a number from ${minimum} to ${maximum.toLocaleString('en')}`,
    (value) => typeof value === 'number' && value >= minimum && value <= maximum,
  );

export const whole = (minimum: number, maximum: number): Bound =>
  given(
    { type: 'integer', minimum, maximum },
    `must be a whole number from ${minimum} to ${maximum.toLocaleString('en')}`,
    (value) => Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
  );

/** A number of a form, whose fields are texts. */
export const numberText = (minimum: number, maximum: number): Bound =>
  given({ type: 'number', minimum, maximum }, `must be a number from ${minimum} to ${maximum}`, (value) => {
    const read = value === '' ? NaN : Number(value);
    return read >= minimum && read <= maximum;
  });

export const choice = (...allowed: readonly string[]): Bound =>
  given(
    { enum: allowed },
    `must be one of: ${allowed.join(', ')}`,
    (value) => typeof value === 'string' && allowed.includes(value),
  );

/** Every item is a text or an object. */
const isText = (item: unknown): boolean => typeof item === 'string' || isObject(item);

/** It may be a text, or a list of texts and objects. */
export const textOrPieces: Bound = {
  schema: {},
  check: (value, name) => {
    if (Array.isArray(value)) mustAll(value, name, isText, 'must be a text or an object');
  },
};

export const pieces: Bound = {
  schema: { type: 'array', items: {} },
  check: (value, name) => {
    if (!Array.isArray(value)) throw invalid(name, 'must be a list of texts or objects');
    mustAll(value, name, isText, 'must be a text or an object');
  },
};

function mustAll(
  items: readonly unknown[],
  name: string,
  isRight: (item: unknown) => boolean,
  rule: string,
): void {
  const at = items.findIndex((item) => !isRight(item));
  if (at !== -1) throw invalid(`${name}[${at}]`, rule);
}

const MOST_INPUTS = 2_048;

const isTokens = (item: unknown): boolean =>
  Array.isArray(item) && item.length > 0 && item.every((token) => Number.isInteger(token) && token >= 0);

/** A text, a list of texts, a list of tokens or a list of such lists; none of them empty. */
export const inputs: Bound = {
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: {}, maxItems: MOST_INPUTS }] },
  check: (value, name) => {
    if (!Array.isArray(value) || isTokens(value)) return;
    if (value.length > MOST_INPUTS)
      throw invalid(name, `may have at most ${MOST_INPUTS.toLocaleString('en')} items`);
    const isRight = (item: unknown): boolean => isFilled(item) || isTokens(item);
    mustAll(value, name, isRight, 'must be a text or a list of tokens, and not empty');
  },
};

/** A text that must be there. */
export const filled = (maxLength?: number): Bound => ({
  schema: { type: 'string', minLength: 1, ...(maxLength !== undefined && { maxLength }) },
  check: (value, name) => {
    if (!isFilled(value)) throw invalid(name, 'must be a text, and not empty');
    if (maxLength === undefined || value.length <= maxLength) return;
    // A character may take two units; counting them is worth it only where it can matter.
    if (Array.from(value).length > maxLength)
      throw invalid(name, `may have at most ${maxLength.toLocaleString('en')} characters`);
  },
});

export const text: Bound = given({ type: 'string' }, 'must be a text', (value) => typeof value === 'string');

export const voice: Bound = given(
  {},
  'must be the name of a voice, or an object with its id',
  (value) => isFilled(value) || (isObject(value) && isFilled(Reflect.get(value, 'id'))),
);

export const besideStream: Bound = given(
  {},
  'must be an object, and stands only beside stream: true',
  (value, { stream }) => isObject(value) && stream === true,
);

const unsupported = (param: string, message: string): Fault =>
  fault('unsupported_parameter', { param, message });

/** Answers are whole; some servers take any word for yes that is not a plain no. */
export const notStreamed: Bound = {
  schema: { const: false },
  check: (value, name) => {
    if (isAbsent(value) || value === false || value === 'false') return;
    throw unsupported(name, 'Answers of this route are not streamed.');
  },
};

/** Background answers are fetched later and could not be charged. */
export const foreground: Bound = {
  schema: { const: false },
  check: (value, name) => {
    if (value !== true) return;
    throw unsupported(name, `${name} is not supported: leave it out, and the answer comes with the request.`);
  },
};

export const alwaysStreamed: Bound = {
  schema: { const: true },
  check: (value, name) => {
    if (value !== true) throw invalid(name, 'must be true: answers on this route are streamed');
  },
};

export const items: Bound = {
  schema: { type: 'array', items: {} },
  check: (value, param) => {
    if (Array.isArray(value)) return;
    throw fault('invalid_input', { param, message: `${param} must be a list of items.` });
  },
};
