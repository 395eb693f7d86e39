import type { Entry } from './entry';
import type { Place } from './file-fault';

/** A key as a file has it. What limits it is as `/v1/manage/keys` takes it, and judged there. */
export interface DesiredKey {
  readonly at: Place;
  /** What the file calls it. */
  readonly name: string;
  /** Public id of a key that is there already and shall be kept by the file. */
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

const ownerFields = ['user', 'organisation', 'department', 'project'] as const;
type KeyOwnerField = (typeof ownerFields)[number];

const counts = ['rate_limit_rpm', 'rate_limit_tpm', 'max_parallel'] as const;
const texts = [
  'name',
  'budget_limit',
  'budget_period',
  'answer_model',
  'continue_streams',
  'expires_at',
] as const;
const structures = ['allowed_models', 'allowed_regions', 'model_budgets', 'metadata'] as const;
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

export function readKey([name, entry]: [string, Entry]): DesiredKey {
  if (!NAME.test(name)) entry.fault('expected a name of at most 63 small letters, digits, and . _ -');
  const fields = entry.fields('id', 'status', ...ownerFields, ...texts, ...counts, ...structures);
  const limits = [
    ...texts.map((field) => ({ field, value: fields[field].text() })),
    ...counts.map((field) => ({ field, value: fields[field].wholeNumber(1) })),
    ...structures.map((field) => ({ field, value: fields[field].data() })),
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
      value === undefined ? [] : [{ at: fields[field], field, value }],
    ),
  };
}

function located(entry: Entry): LocatedText | undefined {
  const text = entry.text();
  return text === undefined ? undefined : { at: entry, text };
}
