import type { DialectName } from '#extension';
import { fault, type JsonFields } from '../../kernel';
import {
  type FieldTable,
  isKnownBeta,
  requestFields,
  type StoredId,
  type StoredIdField,
  storedIdFields,
} from '../../vendors';

export interface UnknownPart {
  /** Name of the enclosing property and of the field: `content.foo`. */
  readonly name: string;
  readonly count: number;
}

export interface BodyNames {
  readonly parts: readonly UnknownPart[];
  readonly stored: readonly StoredId[];
}

/** More names than one release of a client introduces. */
const MAX_UNKNOWN_NAMES = 100;
const MAX_PATH_LENGTH = 200;

const MAX_STORED_IDS = 1_000;

interface BodyVisitor {
  unknown(holder: string, name: string): void;
  stored(idPlace: StoredIdField, holder: string, id: string): void;
}

type StoredPlaceTable = ReadonlyMap<string, readonly StoredIdField[]>;

/** Visits unknown names and ids of stored content. Skips members of free-form and unknown objects. */
function visitBody(
  body: JsonFields,
  table: FieldTable,
  places: StoredPlaceTable,
  visitor: BodyVisitor,
): void {
  visitIds(body, '', places, visitor);
  for (const name in body)
    if (isVisited(name, table)) visitValue(body[name], name, { table, places, visitor });
}

/** Suppliers' extensions of a dialect have fields whose objects the table names, too. */
const isVisited = (name: string, { names, free }: FieldTable): boolean =>
  !free.has(name) && (names.has(name) || names.get('')?.has(name) === true);

interface BodyVisit {
  readonly table: FieldTable;
  readonly places: StoredPlaceTable;
  readonly visitor: BodyVisitor;
}

function visitValue(value: unknown, holder: string, visit: BodyVisit): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) visitValue(item, holder, visit);
    return;
  }
  const { table, places, visitor } = visit;
  visitIds(value as JsonFields, holder, places, visitor);
  const known = table.names.get(holder);
  for (const name in value) {
    const member: unknown = (value as JsonFields)[name];
    if (known?.has(name) !== true) {
      // A null member carries no value.
      if (member !== null) visitor.unknown(holder, name);
    } else if (typeof member === 'object' && member !== null && !table.free.has(name))
      visitValue(member, name, visit);
  }
}

function visitIds(object: JsonFields, holder: string, places: StoredPlaceTable, visitor: BodyVisitor): void {
  const list = places.get(holder);
  if (list === undefined) return;
  for (const idPlace of list) {
    if (object[idPlace.name] === undefined) continue;
    const value = idPlace.ids === undefined ? object[idPlace.name] : idPlace.ids(object);
    for (const id of Array.isArray(value) ? (value as unknown[]) : [value])
      if (typeof id === 'string') visitor.stored(idPlace, holder, id);
  }
}

const NO_PARTS: readonly UnknownPart[] = [];
const NO_IDS: readonly StoredId[] = [];

export function namesWithin(body: JsonFields, dialect: DialectName): BodyNames {
  const counts = new Map<string, number>();
  const ids = new Map<string, StoredId>();
  visitBody(body, requestFields[dialect], storedIdFields[dialect], {
    unknown: (holder, name) => {
      const key = `${holder}.${name}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (counts.size > MAX_UNKNOWN_NAMES)
        throw fault('invalid_request', {
          param: key.slice(0, MAX_PATH_LENGTH),
          message: `The body has more than ${MAX_UNKNOWN_NAMES} unknown fields.`,
        });
    },
    stored: ({ name, kind }, holder, id) => {
      const param = holder === '' ? name : `${holder}.${name}`;
      ids.set(id, { id, kind, param });
      if (ids.size > MAX_STORED_IDS)
        throw fault('invalid_request', {
          param,
          message: `The body refers to more than ${MAX_STORED_IDS.toLocaleString('en')} stored items.`,
        });
    },
  });
  return {
    parts: counts.size === 0 ? NO_PARTS : [...counts].map(([name, count]) => ({ name, count })),
    stored: ids.size === 0 ? NO_IDS : [...ids.values()],
  };
}

export function withoutParts(
  body: JsonFields,
  table: FieldTable,
  parts: ReadonlySet<string>,
): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const name in body) {
    if (!isVisited(name, table)) continue;
    const value = prune(body[name], name, table, parts);
    if (value !== body[name]) set[name] = value;
  }
  return set;
}

function prune(value: unknown, holder: string, table: FieldTable, parts: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => prune(item, holder, table, parts));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const known = table.names.get(holder);
  let isChanged = false;
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (known?.has(name) !== true) {
      if (member !== null && parts.has(`${holder}.${name}`)) isChanged = true;
      else result[name] = member;
      continue;
    }
    const pruned = table.free.has(name) ? member : prune(member, name, table, parts);
    isChanged ||= pruned !== member;
    result[name] = pruned;
  }
  return isChanged ? result : value;
}

/** Cache by header value: values are few and repeat with every request of a client. */
const unknownBetas = new Map<string, readonly string[]>();
const MAX_CACHED_HEADERS = 500;
const MAX_CACHED_HEADER_LENGTH = 1_000;
const NO_BETAS: readonly string[] = [];

export function unknownBetasIn(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return NO_BETAS;
  const text = String(header);
  let unknown = unknownBetas.get(text);
  if (unknown === undefined) {
    unknown = betasIn(text).filter((beta) => !isKnownBeta(beta));
    if (unknownBetas.size >= MAX_CACHED_HEADERS) unknownBetas.clear();
    if (text.length <= MAX_CACHED_HEADER_LENGTH) unknownBetas.set(text, unknown);
  }
  return unknown;
}

export const betasIn = (header: string): string[] =>
  header.split(',').flatMap((beta) => (beta.trim() === '' ? [] : [beta.trim()]));
