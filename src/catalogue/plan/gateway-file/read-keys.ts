import type { ColumnShape, Definition, Properties } from '../../../kernel';
import type { Entry } from './entry';
import type { FilePosition } from './file-fault';

/** A key as written in the file. Its limits have the form of `/v1/manage/keys` and are validated there. */
export interface DesiredKey {
  readonly at: FilePosition;
  readonly name: string;
  readonly id: LocatedText | undefined;
  readonly owner: Readonly<Partial<Record<KeyOwnerField, LocatedText>>>;
  readonly status: 'active' | 'disabled' | undefined;
  readonly limits: readonly DesiredLimit[];
}

interface DesiredLimit {
  readonly at: FilePosition;
  readonly field: string;
  readonly value: unknown;
}

export interface LocatedText {
  readonly at: FilePosition;
  readonly text: string;
}

/** Key fields that a file can set; passed in because keys depend on the catalogue. */
export type KeyFields = Pick<Definition<Properties>, 'fileNames' | 'on'>;

const ownerFields = ['user', 'organisation', 'department', 'project'] as const;
type KeyOwnerField = (typeof ownerFields)[number];

const ownNames = ['id', 'status', ...ownerFields, 'budget_limit', 'budget_period', 'model_budgets'] as const;
type KeyFieldEntries = Readonly<Record<(typeof ownNames)[number], Entry> & Record<string, Entry>>;
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export function readKey([name, entry]: [string, Entry], keyFields: KeyFields): DesiredKey {
  if (!NAME.test(name)) entry.fault('expected a name of at most 63 small letters, digits, and . _ -');
  const fields = entry.fields(...ownNames, ...keyFields.fileNames) as KeyFieldEntries;
  const limits = [
    ...keyFields.on('file').map(({ fileName: field, property }) => ({
      field,
      value: rawValue(fields[field], property.column),
    })),
    { field: 'budget_limit', value: fields.budget_limit.text() },
    { field: 'budget_period', value: fields.budget_period.text() },
    { field: 'model_budgets', value: fields.model_budgets.data() },
  ];
  return {
    at: entry,
    name,
    id: locatedText(fields.id),
    owner: Object.fromEntries(
      ownerFields.flatMap((field): [KeyOwnerField, LocatedText][] => {
        const text = locatedText(fields[field]);
        return text === undefined ? [] : [[field, text]];
      }),
    ),
    status: fields.status.oneOf(['active', 'disabled']),
    limits: limits.flatMap(({ field, value }) =>
      value === undefined ? [] : [{ at: fields[field] ?? entry, field, value }],
    ),
  };
}

/** Returns the value as written; the key module validates it. */
function rawValue(entry: Entry | undefined, { type, array = false }: ColumnShape): unknown {
  if (array || type === 'jsonb') return entry?.data();
  return type === 'integer' ? entry?.wholeNumber(1) : entry?.text();
}

function locatedText(entry: Entry): LocatedText | undefined {
  const text = entry.text();
  return text === undefined ? undefined : { at: entry, text };
}
