import type { DialectName } from '#extension';
import type { JsonFields } from '../kernel';

/** Content that a supplier stores in its account and a later request can refer to. */
export type StoredContentKind =
  'response' | 'item' | 'reasoning' | 'conversation' | 'container' | 'file' | 'vector_store' | 'audio';

export interface StoredId {
  readonly id: string;
  readonly kind: StoredContentKind;
  readonly param: string;
}

/** A property of a request that holds one id, or a list of ids. */
export interface StoredIdField {
  readonly name: string;
  readonly kind: StoredContentKind;
  readonly ids?: (object: JsonFields) => unknown;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFilledList = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

/** Only the account that wrote such reasoning can look it up. */
const isHidden = ({ type, encrypted_content: encrypted, content }: JsonFields): boolean =>
  type === 'reasoning' && !isText(encrypted) && !isFilledList(content);

const stubNames = new Set(['type', 'id', 'status']);

/** An input item that refers to an earlier one instead of repeating it. */
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

type StoredIdFields = ReadonlyMap<string, readonly StoredIdField[]>;
type StoredIdRow = readonly [name: string, kind: StoredContentKind, ids?: StoredIdField['ids']];

const fieldsOf = (table: Readonly<Record<string, readonly StoredIdRow[]>>): StoredIdFields =>
  new Map(
    Object.entries(table).map(([holder, rows]) => [
      holder,
      rows.map(([name, kind, ids]) => ({ name, kind, ...(ids && { ids }) })),
    ]),
  );

/**
 * The fields of a request that contain ids of stored content, by the property that holds their object; the empty name
 * is the body. Prompts, skills and voices are not listed, as only the operator creates them; `thread` is refused.
 */
export const storedIdFields: Readonly<Record<DialectName, StoredIdFields>> = {
  chat: fieldsOf({ audio: [['id', 'audio']], file: [['file_id', 'file']] }),
  messages: fieldsOf({
    '': [['container', 'container']],
    container: [['id', 'container']],
    // Results of earlier code repeat the ids of its files, and no supplier reads them.
    content: [['file_id', 'file', ({ type, file_id: id }) => (type === 'container_upload' ? id : undefined)]],
    source: [['file_id', 'file']],
  }),
  responses: fieldsOf({
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

type StoredIdPath = readonly [path: string, kind: StoredContentKind];

const inItem: readonly StoredIdPath[] = [
  ['id', 'item'],
  ['container_id', 'container'],
  ['environment.container_id', 'container'],
  ['content.*.annotations.*.container_id', 'container'],
  ['content.*.annotations.*.file_id', 'file'],
];
const prefixPaths = (name: string, paths: readonly StoredIdPath[]): readonly StoredIdPath[] =>
  paths.map(([path, kind]) => [`${name}.${path}`, kind]);

const inResponse: readonly StoredIdPath[] = [['id', 'response'], ...prefixPaths('output.*', inItem)];

const idPaths: Readonly<Record<DialectName, readonly StoredIdPath[]>> = {
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
  responses: [...inResponse, ...prefixPaths('response', inResponse), ...prefixPaths('item', inItem)],
};

const splitPaths = (paths: readonly StoredIdPath[]) =>
  paths.map(([path, kind]) => ({ names: path.split('.'), kind }));
const splitIdPaths = {
  chat: splitPaths(idPaths.chat),
  messages: splitPaths(idPaths.messages),
  responses: splitPaths(idPaths.responses),
};

export function addStoredIds(
  ids: Map<string, StoredContentKind>,
  dialect: DialectName,
  response: unknown,
): ReadonlyMap<string, StoredContentKind> {
  for (const { names, kind } of splitIdPaths[dialect]) visit(response, names, 0, (id) => ids.set(id, kind));
  return ids;
}

function visit(value: unknown, names: readonly string[], at: number, add: (id: string) => unknown): void {
  const name = names[at];
  if (name === undefined) {
    if (typeof value === 'string' && value !== '') add(value);
  } else if (name === '*') {
    if (Array.isArray(value)) for (const item of value) visit(item, names, at + 1, add);
  } else if (typeof value === 'object' && value !== null) {
    visit((value as JsonFields)[name], names, at + 1, add);
  }
}
