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
import { isConversation, type Operation } from '../operations/operation';
import type { Inbound } from './inbound';
import { namesWithin, type UnknownPart, unknownBetasIn } from './unknown-parts';

/** More fields than any known interface has, in a body or a checked object of it. */
const MOST_FIELDS = 256;

/** The names of a request that its route does not know. */
export interface UnknownNames {
  /** Fields of the body itself. */
  readonly fields: readonly string[];
  /** Fields of objects within it. */
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
 * Checks the names of a body. A name that differs from a known one only in case is refused, as suppliers may read it.
 * Returns the unknown names and the stored content. Steering fields are removed from every body elsewhere.
 */
export function readNames(inbound: Inbound, operation: Operation): RequestNames {
  const { body, members, form, headers } = inbound;
  const known = knownFields(operation.name);
  const fields: string[] = [];
  const look = (name: string): void => {
    if (known.names.has(name) || isSteering(name)) return;
    if (limitFields.has(name))
      throw fault('unsupported_parameter', { param: name, message: `This route has no field ${name}.` });
    refuseLookalike(known, name, '');
    fields.push(name);
  };
  requireFew(form === null ? members.length : form.fields.length, '');
  if (form === null) for (const { name } of members) look(name);
  else for (const [name] of form.fields) look(withoutListMark(name));
  for (const [name, names] of nestedFields) {
    const value = body[name];
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) checkWithin(value, name, names);
  }
  if (!isConversation(operation)) return { unknown: unknownOf(fields, [], []), stored: [] };
  const { name: dialect } = operation.dialect;
  const { parts, stored } = namesWithin(body, dialect);
  const betas = dialect === 'messages' ? unknownBetasIn(headers['anthropic-beta']) : NOTHING_UNKNOWN.betas;
  return { unknown: unknownOf(fields, parts, betas), stored };
}

const unknownOf = (
  fields: UnknownNames['fields'],
  parts: UnknownNames['parts'],
  betas: UnknownNames['betas'],
): UnknownNames =>
  fields.length + parts.length + betas.length === 0 ? NOTHING_UNKNOWN : { fields, parts, betas };

function checkWithin(value: object, path: string, known: KnownFields): void {
  const names = Object.keys(value);
  requireFew(names.length, path);
  for (const name of names) if (!known.names.has(name)) refuseLookalike(known, name, `${path}.`);
}

function refuseLookalike(known: KnownFields, name: string, path: string): void {
  const meant = known.meantBy(name);
  if (meant === undefined || meant === name) return;
  throw fault('invalid_request', {
    param: path + name,
    message: `${path}${name} is not a field of this route. Write ${path}${meant}.`,
  });
}

function requireFew(count: number, path: string): void {
  if (count <= MOST_FIELDS) return;
  const where = path === '' ? 'The body' : path;
  throw fault('invalid_request', {
    ...(path === '' ? {} : { param: path }),
    message: `${where} may have at most ${MOST_FIELDS} fields.`,
  });
}

export const notTaken = (
  name: string,
  model: string,
  { why, details }: Pick<MeaningfulField, 'why' | 'details'>,
): Fault =>
  fault('unsupported_parameter', {
    param: name,
    details,
    message: `${name}: no supplier of ${model} takes this field, as ${why}. Leave it out.`,
  });
