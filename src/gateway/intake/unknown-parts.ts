import type { DialectName } from '#extension';
import { fault, type JsonFields } from '../../kernel';
import {
  type FieldTable,
  isKnownBeta,
  requestFields,
  type StoredId,
  type StoredPlace,
  storedPlaces,
} from '../../vendors';

/** A field below the top level of a body that its dialect does not know. */
export interface UnknownPart {
  /** The property that holds its object, and its own: `content.foo`. */
  readonly name: string;
  readonly count: number;
}

/** What a walk over a body finds below its top level. */
export interface BodyNames {
  readonly parts: readonly UnknownPart[];
  readonly stored: readonly StoredId[];
}

/** More names than one release of a client introduces. */
const MAX_UNKNOWN_NAMES = 100;
const MAX_PATH_LENGTH = 200;

const MAX_STORED_IDS = 1_000;

interface Visitor {
  unknown(holder: string, name: string): void;
  stored(place: StoredPlace, holder: string, id: string): void;
}

type Places = ReadonlyMap<string, readonly StoredPlace[]>;

/** Visits names that the table lacks, and ids of stored content. Members of free and unknown objects are skipped. */
function visitBody(body: JsonFields, table: FieldTable, places: Places, visitor: Visitor): void {
  visitIds(body, '', places, visitor);
  for (const name in body)
    if (isVisited(name, table)) visitValue(body[name], name, { table, places, visitor });
}

/** Services beside their dialect have fields whose objects the table names, too. */
const isVisited = (name: string, { names, free }: FieldTable): boolean =>
  !free.has(name) && (names.has(name) || names.get('')?.has(name) === true);

interface Visit {
  readonly table: FieldTable;
  readonly places: Places;
  readonly visitor: Visitor;
}

function visitValue(value: unknown, holder: string, visit: Visit): void {
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
      // A member without a value says nothing.
      if (member !== null) visitor.unknown(holder, name);
    } else if (typeof member === 'object' && member !== null && !table.free.has(name))
      visitValue(member, name, visit);
  }
}

function visitIds(object: JsonFields, holder: string, places: Places, visitor: Visitor): void {
  const list = places.get(holder);
  if (list === undefined) return;
  for (const place of list) {
    if (object[place.name] === undefined) continue;
    const value = place.ids === undefined ? object[place.name] : place.ids(object);
    for (const id of Array.isArray(value) ? (value as unknown[]) : [value])
      if (typeof id === 'string') visitor.stored(place, holder, id);
  }
}

const NO_PARTS: readonly UnknownPart[] = [];
const NO_IDS: readonly StoredId[] = [];

/** The unknown names within the members of a body, each once, and the ids of stored content. */
export function namesWithin(body: JsonFields, dialect: DialectName): BodyNames {
  const counts = new Map<string, number>();
  const ids = new Map<string, StoredId>();
  visitBody(body, requestFields[dialect], storedPlaces[dialect], {
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

/** New values of the members that hold one of the parts; the body stays as it is. */
export function withoutParts(
  body: JsonFields,
  table: FieldTable,
  parts: ReadonlySet<string>,
): Record<string, unknown> {
  const set: Record<string, unknown> = {};
  for (const name in body) {
    if (!isVisited(name, table)) continue;
    const value = pruned(body[name], name, table, parts);
    if (value !== body[name]) set[name] = value;
  }
  return set;
}

function pruned(value: unknown, holder: string, table: FieldTable, parts: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => pruned(item, holder, table, parts));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const known = table.names.get(holder);
  let isChanged = false;
  const kept: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (known?.has(name) !== true) {
      if (member !== null && parts.has(`${holder}.${name}`)) isChanged = true;
      else kept[name] = member;
      continue;
    }
    const next = table.free.has(name) ? member : pruned(member, name, table, parts);
    isChanged ||= next !== member;
    kept[name] = next;
  }
  return isChanged ? kept : value;
}

/** Values of the header are few and repeat with every request of a client. */
const read = new Map<string, readonly string[]>();
const MAX_HEADERS_READ = 500;
const MAX_REMEMBERED_LENGTH = 1_000;
const NO_BETAS: readonly string[] = [];

/** The values of `anthropic-beta` whose family is unknown. */
export function unknownBetasIn(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return NO_BETAS;
  const text = String(header);
  let unknown = read.get(text);
  if (unknown === undefined) {
    unknown = betasIn(text).filter((beta) => !isKnownBeta(beta));
    if (read.size >= MAX_HEADERS_READ) read.clear();
    if (text.length <= MAX_REMEMBERED_LENGTH) read.set(text, unknown);
  }
  return unknown;
}

export const betasIn = (header: string): string[] =>
  header.split(',').flatMap((beta) => (beta.trim() === '' ? [] : [beta.trim()]));
