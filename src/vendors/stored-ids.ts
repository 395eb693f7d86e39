import type { DialectName } from '#extension';
import type { JsonFields } from '../kernel';

/** Content that a supplier stores in its account and a later request can refer to. */
export type StoredKind =
  'response' | 'item' | 'reasoning' | 'conversation' | 'container' | 'file' | 'vector_store' | 'audio';

/** The id of such content, as a request names it. */
export interface StoredId {
  readonly id: string;
  readonly kind: StoredKind;
  readonly param: string;
}

/** A property of a request that holds one id, or a list of them. */
export interface StoredPlace {
  readonly name: string;
  readonly kind: StoredKind;
  /** The ids, if they are not the value of the property in every object. */
  readonly ids?: (object: JsonFields) => unknown;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFilledList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** Only the account that wrote such reasoning can look it up. */
const isHidden = ({ type, encrypted_content: encrypted, content }: JsonFields): boolean =>
  type === 'reasoning' && !isText(encrypted) && !isFilledList(content);

const stubNames = new Set(['type', 'id', 'status']);

/** An input item that names an earlier one in place of repeating it. */
const isStub = (item: JsonFields): boolean =>
  !isHidden(item) &&
  (item.type === 'item_reference' ||
    (item.type === 'image_generation_call' && !isText(item.result)) ||
    Object.keys(item).every((name) => stubNames.has(name) || item[name] === null));

/** Variables of a prompt can be files. */
const filesIn = ({ variables }: JsonFields): unknown =>
  typeof variables === 'object' && variables !== null
    ? Object.values(variables).map((value: { readonly file_id?: unknown } | null) => value?.file_id)
    : undefined;

type Places = ReadonlyMap<string, readonly StoredPlace[]>;
type Row = readonly [name: string, kind: StoredKind, ids?: StoredPlace['ids']];

const places = (table: Readonly<Record<string, readonly Row[]>>): Places =>
  new Map(
    Object.entries(table).map(([holder, rows]) => [
      holder,
      rows.map(([name, kind, ids]) => ({ name, kind, ...(ids && { ids }) })),
    ]),
  );

/**
 * Where a request holds the id of stored content, by the property that holds its object; the empty name stands for the
 * body. Prompts, skills and voices are not listed, as only the operator creates them. `thread` is refused.
 */
export const storedPlaces: Readonly<Record<DialectName, Places>> = {
  chat: places({ audio: [['id', 'audio']], file: [['file_id', 'file']] }),
  messages: places({
    '': [['container', 'container']],
    container: [['id', 'container']],
    // Results of earlier code repeat the ids of its files, and no supplier reads them.
    content: [['file_id', 'file', ({ type, file_id: id }) => (type === 'container_upload' ? id : undefined)]],
    source: [['file_id', 'file']],
  }),
  responses: places({
    '': [
      ['previous_response_id', 'response'],
      ['conversation', 'conversation'],
    ],
    container: [['file_ids', 'file']],
    content: [['file_id', 'file']],
    conversation: [['id', 'conversation']],
    environment: [
      ['container_id', 'container'],
      ['file_ids', 'file'],
    ],
    input: [
      ['id', 'item', (item) => (isStub(item) ? item.id : undefined)],
      ['id', 'reasoning', (item) => (isHidden(item) ? item.id : undefined)],
      ['container_id', 'container'],
    ],
    input_image_mask: [['file_id', 'file']],
    output: [['file_id', 'file']],
    prompt: [['variables', 'file', filesIn]],
    tools: [
      ['container', 'container'],
      ['vector_store_ids', 'vector_store'],
    ],
  }),
};

type Path = readonly [path: string, kind: StoredKind];

const inItem: readonly Path[] = [
  ['id', 'item'],
  ['container_id', 'container'],
  ['environment.container_id', 'container'],
  ['content.*.annotations.*.container_id', 'container'],
  ['content.*.annotations.*.file_id', 'file'],
];
const below = (name: string, paths: readonly Path[]): readonly Path[] =>
  paths.map(([path, kind]) => [`${name}.${path}`, kind]);

const inResponse: readonly Path[] = [['id', 'response'], ...below('output.*', inItem)];

/** Where complete answers and events of streams hand out such ids. */
const handedOut: Readonly<Record<DialectName, readonly Path[]>> = {
  chat: [
    ['choices.*.message.audio.id', 'audio'],
    ['choices.*.delta.audio.id', 'audio'],
  ],
  messages: [
    ['container.id', 'container'],
    ['message.container.id', 'container'],
    ['delta.container.id', 'container'],
    ['content.*.content.content.*.file_id', 'file'],
    ['content_block.content.content.*.file_id', 'file'],
  ],
  responses: [...inResponse, ...below('response', inResponse), ...below('item', inItem)],
};

const split = (paths: readonly Path[]) => paths.map(([path, kind]) => ({ names: path.split('.'), kind }));
const answerPlaces = {
  chat: split(handedOut.chat),
  messages: split(handedOut.messages),
  responses: split(handedOut.responses),
};

/** Adds the ids of stored content that an answer, or an event of it, hands out. */
export function addStoredIds(
  ids: Map<string, StoredKind>,
  dialect: DialectName,
  answer: unknown,
): ReadonlyMap<string, StoredKind> {
  for (const { names, kind } of answerPlaces[dialect]) visit(answer, names, 0, (id) => ids.set(id, kind));
  return ids;
}

function visit(value: unknown, names: readonly string[], at: number, take: (id: string) => unknown): void {
  const name = names[at];
  if (name === undefined) {
    if (typeof value === 'string' && value !== '') take(value);
  } else if (name === '*') {
    if (Array.isArray(value)) for (const item of value) visit(item, names, at + 1, take);
  } else if (typeof value === 'object' && value !== null) {
    visit((value as JsonFields)[name], names, at + 1, take);
  }
}
