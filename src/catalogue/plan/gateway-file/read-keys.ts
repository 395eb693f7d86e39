import type { ColumnShape, Definition, Properties } from '../../../kernel';
import type { Entry } from './entry';
import type { Place } from './file-fault';

/** A key as a file has it. What limits it is as `/v1/manage/keys` takes it, and judged there. */
export interface DesiredKey {
  readonly at: Place;
  /** The file calls it so. */
  readonly name: string;
  /** The key with this public id is there already and shall be kept by the file. */
  readonly id: LocatedText | undefined;
  readonly owner: Readonly<Partial<Record<KeyOwnerField, LocatedText>>>;
  readonly status: 'active' | 'disabled' | undefined;
  readonly limits: readonly DesiredLimit[];
}

interface DesiredLimit {
  readonly at: Place;
  readonly field: string;
  readonly value: unknown;
}

/** A text of the file, and where it stands. */
export interface LocatedText {
  readonly at: Place;
  readonly text: string;
}

/** A file can set these fields of a key. Keys stand above the catalogue, which is told. */
export type KeyFields = Pick<Definition<Properties>, 'fileNames' | 'on'>;

const ownerFields = ['user', 'organisation', 'department', 'project'] as const;
type KeyOwnerField = (typeof ownerFields)[number];

const ownNames = ['id', 'status', ...ownerFields, 'budget_limit', 'budget_period', 'model_budgets'] as const;
type Given = Readonly<Record<(typeof ownNames)[number], Entry> & Record<string, Entry>>;
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export function readKey([name, entry]: [string, Entry], keyFields: KeyFields): DesiredKey {
  if (!NAME.test(name)) entry.fault('expected a name of at most 63 small letters, digits, and . _ -');
  const fields = entry.fields(...ownNames, ...keyFields.fileNames) as Given;
  const limits = [
    ...keyFields.on('file').map(({ fileName: field, property }) => ({
      field,
      value: writtenIn(fields[field], property.column),
    })),
    { field: 'budget_limit', value: fields.budget_limit.text() },
    { field: 'budget_period', value: fields.budget_period.text() },
    { field: 'model_budgets', value: fields.model_budgets.data() },
  ];
  return {
    at: entry,
    name,
    id: located(fields.id),
    owner: Object.fromEntries(
      ownerFields.flatMap((field): [KeyOwnerField, LocatedText][] => {
        const text = located(fields[field]);
        return text === undefined ? [] : [[field, text]];
      }),
    ),
    status: fields.status.oneOf(['active', 'disabled']),
    limits: limits.flatMap(({ field, value }) =>
      value === undefined ? [] : [{ at: fields[field] ?? entry, field, value }],
    ),
  };
}

/** As it is written: its reader judges it. */
function writtenIn(entry: Entry | undefined, { type, array = false }: ColumnShape): unknown {
  if (array || type === 'jsonb') return entry?.data();
  return type === 'integer' ? entry?.wholeNumber(1) : entry?.text();
}

function located(entry: Entry): LocatedText | undefined {
  const text = entry.text();
  return text === undefined ? undefined : { at: entry, text };
}
