import { type Fault, fault } from '../../kernel';
import {
  isSteering,
  type KnownFields,
  knownFields,
  limitFields,
  nestedFields,
  withoutListMark,
} from '../../routing';
import type { Operation } from '../operations/operation';
import type { Inbound } from './inbound';

/** More fields than any known interface has, in a body or a checked object of it. */
const MOST_FIELDS = 256;

/**
 * Checks the names of a body. A name that differs from a known one only in case is refused, as suppliers may read it.
 * Returns unknown names; the supplier decides whether they are forwarded. Steering fields are removed from every body
 * elsewhere.
 */
export function unknownFields(
  { body, members, form }: Inbound,
  { name: route }: Operation,
): readonly string[] {
  const known = knownFields(route);
  const unknown: string[] = [];
  const look = (name: string): void => {
    if (known.names.has(name) || isSteering(name)) return;
    if (limitFields.has(name))
      throw fault('unsupported_parameter', { param: name, message: `This route has no field ${name}.` });
    refuseLookalike(known, name, '');
    unknown.push(name);
  };
  requireFew(form === null ? members.length : form.fields.length, '');
  if (form === null) for (const { name } of members) look(name);
  else for (const [name] of form.fields) look(withoutListMark(name));
  for (const [name, names] of nestedFields) {
    const value = body[name];
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) checkWithin(value, name, names);
  }
  return unknown;
}

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

export const notTaken = (name: string, model: string): Fault =>
  fault('unsupported_parameter', {
    param: name,
    message: `No supplier of ${model} is known to take the field ${name}. Leave it out, or list it in extra_fields of the provider.`,
  });
