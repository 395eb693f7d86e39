import { type Fault, fault } from '../../kernel';
import {
  isSteering,
  type KnownFields,
  knownFields,
  limitFields,
  nestedFields,
  withoutListMark,
} from '../../routing';
import type { MeaningfulField, StoredId } from '../../vendors';
import { isConversation, type GatewayOperation } from '../operations/operation';
import type { Inbound } from './inbound';
import { namesWithin, type UnknownPart, unknownBetasIn } from './unknown-parts';

/** More fields than any known API has, in a body or a checked object within it. */
const MAX_FIELDS = 256;

export interface UnknownNames {
  readonly fields: readonly string[];
  readonly parts: readonly UnknownPart[];
  /** Values of the header `anthropic-beta`. */
  readonly betas: readonly string[];
}

export const NOTHING_UNKNOWN: UnknownNames = Object.freeze({ fields: [], parts: [], betas: [] });

interface RequestNames {
  readonly unknown: UnknownNames;
  /** Ids of content that a supplier stores. */
  readonly stored: readonly StoredId[];
}

/**
 * Checks the names of a body, and returns its unknown names and stored content. Refuses a name that differs from a
 * known field only in case, as suppliers could read it.
 */
export function readNames(inbound: Inbound, operation: GatewayOperation): RequestNames {
  const { body, members, form, headers } = inbound;
  const known = knownFields(operation.name);
  const fields: string[] = [];
  const checkName = (name: string): void => {
    if (known.names.has(name) || isSteering(name)) return;
    if (limitFields.has(name))
      throw fault('unsupported_parameter', { param: name, message: `This route has no field ${name}.` });
    refuseLookalike(known, name, '');
    fields.push(name);
  };
  checkFieldCount(form === null ? members.length : form.fields.length, '');
  if (form === null) for (const { name } of members) checkName(name);
  else for (const [name] of form.fields) checkName(withoutListMark(name));
  for (const [name, names] of nestedFields) {
    const value = body[name];
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) checkWithin(value, name, names);
  }
  if (!isConversation(operation)) return { unknown: unknownNames(fields, [], []), stored: [] };
  const { name: dialect } = operation.dialect;
  const { parts, stored } = namesWithin(body, dialect);
  const betas = dialect === 'messages' ? unknownBetasIn(headers['anthropic-beta']) : NOTHING_UNKNOWN.betas;
  return { unknown: unknownNames(fields, parts, betas), stored };
}

const unknownNames = (
  fields: UnknownNames['fields'],
  parts: UnknownNames['parts'],
  betas: UnknownNames['betas'],
): UnknownNames =>
  fields.length + parts.length + betas.length === 0 ? NOTHING_UNKNOWN : { fields, parts, betas };

function checkWithin(value: object, path: string, known: KnownFields): void {
  const names = Object.keys(value);
  checkFieldCount(names.length, path);
  for (const name of names) if (!known.names.has(name)) refuseLookalike(known, name, `${path}.`);
}

function refuseLookalike(known: KnownFields, name: string, path: string): void {
  const knownName = known.lookalikeOf(name);
  if (knownName === undefined || knownName === name) return;
  throw fault('invalid_request', {
    param: path + name,
    message: `${path}${name} is not a field of this route. Write ${path}${knownName}.`,
  });
}

function checkFieldCount(count: number, path: string): void {
  if (count <= MAX_FIELDS) return;
  const where = path === '' ? 'The body' : path;
  throw fault('invalid_request', {
    ...(path === '' ? {} : { param: path }),
    message: `${where} may have at most ${MAX_FIELDS} fields.`,
  });
}

export const unsupportedFieldError = (
  name: string,
  model: string,
  { why, details }: Pick<MeaningfulField, 'why' | 'details'>,
): Fault =>
  fault('unsupported_parameter', {
    param: name,
    details,
    message: `${name}: no supplier of ${model} takes this field, as ${why}. Leave it out.`,
  });
