import { type Fault, fault, type JsonFields, type JsonSchema } from '../../kernel';

/**
 * Check of a field, also documented in OpenAPI; never stricter than any supplier, which validates the rest.
 * Hand-written, as it costs only a few comparisons per request.
 */
export interface FieldRule {
  readonly schema: JsonSchema;
  readonly check: (value: unknown, name: string, body: JsonFields) => void;
}

export type FieldRules = Readonly<Record<string, FieldRule>>;

export function checkFields(rules: FieldRules, body: JsonFields): void {
  for (const name in rules) rules[name]?.check(body[name], name, body);
}

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;
const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const invalidFieldError = (name: string, rule: string): Fault =>
  fault('invalid_request', { param: name, message: `${name} ${rule}.` });

const optionalField = (
  schema: JsonSchema,
  rule: string,
  isValid: (value: unknown, body: JsonFields) => boolean,
): FieldRule => ({
  schema,
  check: (value, name, body) => {
    if (!isAbsent(value) && !isValid(value, body)) throw invalidFieldError(name, rule);
  },
});

export const numberField = (minimum: number, maximum: number): FieldRule =>
  optionalField(
    { type: 'number', minimum, maximum },
    `must be a number from ${minimum} to ${maximum.toLocaleString('en')}`,
    (value) => typeof value === 'number' && value >= minimum && value <= maximum,
  );

export const integerField = (minimum: number, maximum: number): FieldRule =>
  optionalField(
    { type: 'integer', minimum, maximum },
    `must be a whole number from ${minimum} to ${maximum.toLocaleString('en')}`,
    (value) => Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum,
  );

export const numberTextField = (minimum: number, maximum: number): FieldRule =>
  optionalField(
    { type: 'number', minimum, maximum },
    `must be a number from ${minimum} to ${maximum}`,
    (value) => {
      const parsed = value === '' ? NaN : Number(value);
      return parsed >= minimum && parsed <= maximum;
    },
  );

export const enumField = (...allowed: readonly string[]): FieldRule =>
  optionalField(
    { enum: allowed },
    `must be one of: ${allowed.join(', ')}`,
    (value) => typeof value === 'string' && allowed.includes(value),
  );

const isTextOrObject = (item: unknown): boolean => typeof item === 'string' || isObject(item);

export const textOrListField: FieldRule = {
  schema: {},
  check: (value, name) => {
    if (Array.isArray(value)) checkItems(value, name, isTextOrObject, 'must be a text or an object');
  },
};

export const listField: FieldRule = {
  schema: { type: 'array', items: {} },
  check: (value, name) => {
    if (!Array.isArray(value)) throw invalidFieldError(name, 'must be a list of texts or objects');
    checkItems(value, name, isTextOrObject, 'must be a text or an object');
  },
};

function checkItems(
  items: readonly unknown[],
  name: string,
  isValid: (item: unknown) => boolean,
  rule: string,
): void {
  const index = items.findIndex((item) => !isValid(item));
  if (index !== -1) throw invalidFieldError(`${name}[${index}]`, rule);
}

const MAX_INPUTS = 2_048;

const isTokens = (item: unknown): boolean =>
  Array.isArray(item) && item.length > 0 && item.every((token) => Number.isInteger(token) && token >= 0);

/** A text, a list of texts, a list of tokens or a list of token lists; none empty. */
export const inputsField: FieldRule = {
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: {}, maxItems: MAX_INPUTS }] },
  check: (value, name) => {
    if (!Array.isArray(value) || isTokens(value)) return;
    if (value.length > MAX_INPUTS)
      throw invalidFieldError(name, `may have at most ${MAX_INPUTS.toLocaleString('en')} items`);
    const isValid = (item: unknown): boolean => isFilled(item) || isTokens(item);
    checkItems(value, name, isValid, 'must be a text or a list of tokens, and not empty');
  },
};

export const requiredTextField = (maxLength?: number): FieldRule => ({
  schema: { type: 'string', minLength: 1, ...(maxLength !== undefined && { maxLength }) },
  check: (value, name) => {
    if (!isFilled(value)) throw invalidFieldError(name, 'must be a text, and not empty');
    if (maxLength === undefined || value.length <= maxLength) return;
    // A character can take two code units; counting characters is needed only beyond the limit.
    if (Array.from(value).length > maxLength)
      throw invalidFieldError(name, `may have at most ${maxLength.toLocaleString('en')} characters`);
  },
});

export const textField: FieldRule = optionalField(
  { type: 'string' },
  'must be a text',
  (value) => typeof value === 'string',
);

export const voiceField: FieldRule = optionalField(
  {},
  'must be the name of a voice, or an object with its id',
  (value) => isFilled(value) || (isObject(value) && isFilled(Reflect.get(value, 'id'))),
);

export const streamOptionsField: FieldRule = optionalField(
  {},
  'must be an object, and stands only beside stream: true',
  (value, { stream }) => isObject(value) && stream === true,
);

const unsupportedParameterError = (param: string, message: string): Fault =>
  fault('unsupported_parameter', { param, message });

/** Rule for routes without streaming. Only a plain no is accepted, as some servers take any other value for yes. */
export const notStreamedField: FieldRule = {
  schema: { const: false },
  check: (value, name) => {
    if (isAbsent(value) || value === false || value === 'false') return;
    throw unsupportedParameterError(name, 'Answers of this route are not streamed.');
  },
};

/** Background responses are fetched later and could not be charged. */
export const foregroundField: FieldRule = {
  schema: { const: false },
  check: (value, name) => {
    if (value !== true) return;
    throw unsupportedParameterError(
      name,
      `${name} is not supported: leave it out, and the answer comes with the request.`,
    );
  },
};

export const alwaysStreamedField: FieldRule = {
  schema: { const: true },
  check: (value, name) => {
    if (value !== true) throw invalidFieldError(name, 'must be true: answers on this route are streamed');
  },
};

export const itemsField: FieldRule = {
  schema: { type: 'array', items: {} },
  check: (value, param) => {
    if (Array.isArray(value)) return;
    throw fault('invalid_input', { param, message: `${param} must be a list of items.` });
  },
};
