import { stripeFacts } from './stripe-facts';

/** A field of a call or an object may be this. */
export interface Field {
  readonly kind: string;
  /** Of an enumeration. */
  readonly values: readonly string[];
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** Fields by their paths; `[]` stands for any index: `line_items[][quantity]`. */
export type Description = ReadonlyMap<string, Field>;

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

function described(text: string): Description {
  return new Map(
    words(text).map((word): [string, Field] => {
      const [path = '', told = ''] = word.split(/:(.*)/);
      const isNullable = told.endsWith('|null');
      const kind = isNullable ? told.slice(0, -'|null'.length) : told;
      const isEnumeration = kind.startsWith('=');
      return [
        path.replace('!', ''),
        {
          kind: isEnumeration ? 'enumeration' : kind,
          values: isEnumeration ? kind.slice(1).split('|') : [],
          isRequired: path.endsWith('!'),
          isNullable,
        },
      ];
    }),
  );
}

const allOf = (record: Readonly<Record<string, string>>): ReadonlyMap<string, Description> =>
  new Map(Object.entries(record).map(([name, text]) => [name, described(text)]));

/** Stripe's interface as far as we use it. */
export const describedCalls = allOf(stripeFacts.calls);
export const describedObjects = allOf(stripeFacts.objects);
export const apiVersion = stripeFacts.source.version;

/** The kind of object that each event shows. */
export const describedEvents: ReadonlyMap<string, string> = new Map(
  words(stripeFacts.events).map((word) => word.split(':') as [string, string]),
);

const refusals = new Set(words(stripeFacts.refusals));

/** A code with which Stripe refuses. */
export function refusalCode(code: string): string {
  if (refusals.has(code)) return code;
  throw new Error(`Stripe refuses nothing with ${code}`);
}
