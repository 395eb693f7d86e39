import { describedCalls, type Description, type FieldDescription, requireErrorCode } from './facts';

/** Error in the processor's format. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
  ) {
    super(JSON.stringify(body));
  }
}

export const invalid = (message: string, param?: string, code?: string): ApiError =>
  new ApiError(400, {
    type: 'invalid_request_error',
    message,
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code: requireErrorCode(code) }),
  });

export type Parameters = ReadonlyMap<string, string>;

const MAX_TEXT_LENGTH = 5_000;

/** Throws if a parameter is unknown, has the wrong type, or is missing. */
export function readParameters(call: string, encoded: string): Parameters {
  const description = describedCalls.get(call);
  if (description === undefined) {
    throw new ApiError(404, {
      type: 'invalid_request_error',
      message: `Unrecognized request URL (${call}).`,
    });
  }
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const field = fieldOf(description, name);
    if (field === null) throw invalid(`${call} does not know ${name}.`, name, 'parameter_unknown');
    if (!(value === '' && field.isNullable)) requireKind(name, value, field);
    parameters.set(name, value);
  }
  for (const [path, { isRequired }] of description) {
    if (isRequired) requireGiven(path, parameters);
  }
  return parameters;
}

const scalar: FieldDescription = { kind: 'text', values: [], isRequired: false, isNullable: true };

/** `line_items[0][quantity]` is described as `line_items[][quantity]`; entries of maps and lists by their owner. */
function fieldOf(description: Description, name: string): FieldDescription | null {
  const path = name.replaceAll(/\[\d+\]/g, '[]');
  const known = description.get(path);
  if (known !== undefined) return known;
  const owner = /^(.*)\[([^[\]]*)\]$/.exec(path);
  const kind = description.get(owner?.[1] ?? '')?.kind;
  const isEntry = (kind === 'map' && owner?.[2] !== '') || (kind === 'list' && owner?.[2] === '');
  return isEntry ? scalar : null;
}

function requireKind(name: string, value: string, { kind, values }: FieldDescription): void {
  const wrongType = (expectation: string, code?: string): ApiError =>
    invalid(`${name} must be ${expectation}.`, name, code);
  switch (kind) {
    case 'text':
      if (value === '') throw wrongType('longer than nothing', 'parameter_invalid_empty');
      if (value.length > MAX_TEXT_LENGTH) throw wrongType(`at most ${MAX_TEXT_LENGTH} characters`);
      return;
    case 'integer':
    case 'integer-or-object':
      if (!/^-?\d{1,15}$/.test(value)) throw wrongType('a whole number', 'parameter_invalid_integer');
      return;
    case 'flag':
      if (value !== 'true' && value !== 'false') throw wrongType('true or false');
      return;
    case 'enumeration':
      if (!values.includes(value)) throw wrongType(`one of ${values.join(', ')}`);
      return;
    default:
      throw wrongType(`of the kind ${kind}`);
  }
}

/** Requires a nested parameter if its owner is present: in lists, for every element. */
function requireGiven(path: string, parameters: Parameters): void {
  const owner = /^(.*)\[[^[\]]+\]$/.exec(path)?.[1];
  const missing = (name: string): ApiError => invalid(`${name} is missing.`, name, 'parameter_missing');
  if (owner === undefined) {
    if (![...parameters.keys()].some((name) => name === path || name.startsWith(`${path}[`)))
      throw missing(path);
    return;
  }
  const pattern = new RegExp(
    `^${owner.replaceAll('[]', '[0]').replaceAll(/[[\]]/g, '\\$&').replaceAll('0', '\\d+')}(?=\\[)`,
  );
  const owners = new Set([...parameters.keys()].flatMap((name) => pattern.exec(name)?.[0] ?? []));
  const last = path.slice(owner.length);
  for (const ownerName of owners)
    if (!parameters.has(`${ownerName}${last}`)) throw missing(`${ownerName}${last}`);
}

/** Returns the entries of a map such as `metadata`. */
export function objectOf(parameters: Parameters, name: string): Record<string, string> {
  const entries: Record<string, string> = {};
  for (const [key, value] of parameters) {
    if (key.startsWith(`${name}[`)) entries[key.slice(name.length + 1, -1)] = value;
  }
  return entries;
}

/** Returns the values of a list such as `types`. */
export const listOf = (parameters: Parameters, name: string): string[] =>
  Object.values(objectOf(parameters, name));

export const numberOf = (parameters: Parameters, name: string): number | undefined =>
  parameters.has(name) ? Number(parameters.get(name)) : undefined;
