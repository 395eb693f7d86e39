import { describedCalls, type Description, type Field, refusalCode } from './facts';

/** A refusal as the processor shapes it. */
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
    ...(code === undefined ? {} : { code: refusalCode(code) }),
  });

export type Parameters = ReadonlyMap<string, string>;

const LONGEST_TEXT = 5_000;

/** Refuses a parameter that the call does not know, one of the wrong kind, and one that is missing. */
export function readParameters(call: string, encoded: string): Parameters {
  const description = describedCalls.get(call);
  if (description === undefined) {
    throw new ApiError(404, {
      type: 'invalid_request_error',
      message: `Unrecognized request URL (${call}).`,
    });
  }
  const given = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(encoded)) {
    const field = fieldOf(description, name);
    if (field === null) throw invalid(`${call} does not know ${name}.`, name, 'parameter_unknown');
    if (!(value === '' && field.isNullable)) requireKind(name, value, field);
    given.set(name, value);
  }
  for (const [path, { isRequired }] of description) {
    if (isRequired) requireGiven(path, given);
  }
  return given;
}

const scalar: Field = { kind: 'text', values: [], isRequired: false, isNullable: true };

/** `line_items[0][quantity]` is described as `line_items[][quantity]`, and entries of maps and lists by their owner. */
function fieldOf(description: Description, name: string): Field | null {
  const path = name.replaceAll(/\[\d+\]/g, '[]');
  const known = description.get(path);
  if (known !== undefined) return known;
  const owner = /^(.*)\[([^[\]]*)\]$/.exec(path);
  const kind = description.get(owner?.[1] ?? '')?.kind;
  const isEntry = (kind === 'map' && owner?.[2] !== '') || (kind === 'list' && owner?.[2] === '');
  return isEntry ? scalar : null;
}

function requireKind(name: string, value: string, { kind, values }: Field): void {
  const wrong = (what: string, code?: string): ApiError => invalid(`${name} must be ${what}.`, name, code);
  switch (kind) {
    case 'text':
      if (value === '') throw wrong('longer than nothing', 'parameter_invalid_empty');
      if (value.length > LONGEST_TEXT) throw wrong(`at most ${LONGEST_TEXT} characters`);
      return;
    case 'integer':
    case 'integer-or-object':
      if (!/^-?\d{1,15}$/.test(value)) throw wrong('a whole number', 'parameter_invalid_integer');
      return;
    case 'flag':
      if (value !== 'true' && value !== 'false') throw wrong('true or false');
      return;
    case 'enumeration':
      if (!values.includes(value)) throw wrong(`one of ${values.join(', ')}`);
      return;
    default:
      throw wrong(`of the kind ${kind}`);
  }
}

/** A nested parameter is required where its owner is given: every one, in lists. */
function requireGiven(path: string, given: Parameters): void {
  const owner = /^(.*)\[[^[\]]+\]$/.exec(path)?.[1];
  const missing = (name: string): ApiError => invalid(`${name} is missing.`, name, 'parameter_missing');
  if (owner === undefined) {
    if (![...given.keys()].some((name) => name === path || name.startsWith(`${path}[`))) throw missing(path);
    return;
  }
  const pattern = new RegExp(
    `^${owner.replaceAll('[]', '[0]').replaceAll(/[[\]]/g, '\\$&').replaceAll('0', '\\d+')}(?=\\[)`,
  );
  const owners = new Set([...given.keys()].flatMap((name) => pattern.exec(name)?.[0] ?? []));
  const last = path.slice(owner.length);
  for (const one of owners) if (!given.has(`${one}${last}`)) throw missing(`${one}${last}`);
}

/** The values below a name such as `metadata`. */
export function objectOf(parameters: Parameters, name: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [given, value] of parameters) {
    if (given.startsWith(`${name}[`)) found[given.slice(name.length + 1, -1)] = value;
  }
  return found;
}

/** The values of a list such as `types`. */
export const listOf = (parameters: Parameters, name: string): string[] =>
  Object.values(objectOf(parameters, name));

export const numberOf = (parameters: Parameters, name: string): number | undefined =>
  parameters.has(name) ? Number(parameters.get(name)) : undefined;
