import { stripeFacts } from './stripe-facts';

/** Type of a field of a call or an object. */
export interface FieldDescription {
  readonly kind: string;
  /** Values of an enumeration. */
  readonly values: readonly string[];
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** Fields by path; `[]` stands for any index: `line_items[][quantity]`. */
export type Description = ReadonlyMap<string, FieldDescription>;

const splitWords = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

function parseDescription(text: string): Description {
  return new Map(
    splitWords(text).map((word): [string, FieldDescription] => {
      const [path = '', typeText = ''] = word.split(/:(.*)/);
      const isNullable = typeText.endsWith('|null');
      const kind = isNullable ? typeText.slice(0, -'|null'.length) : typeText;
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

const parseDescriptions = (record: Readonly<Record<string, string>>): ReadonlyMap<string, Description> =>
  new Map(Object.entries(record).map(([name, text]) => [name, parseDescription(text)]));

/** The subset of Stripe's API that the service uses. */
export const describedCalls = parseDescriptions(stripeFacts.calls);
export const describedObjects = parseDescriptions(stripeFacts.objects);
export const apiVersion = stripeFacts.source.version;

/** Object type of each event. */
export const describedEvents: ReadonlyMap<string, string> = new Map(
  splitWords(stripeFacts.events).map((word) => word.split(':') as [string, string]),
);

const errorCodes = new Set(splitWords(stripeFacts.refusals));

/** Returns the code if Stripe documents it; throws otherwise. */
export function requireErrorCode(code: string): string {
  if (errorCodes.has(code)) return code;
  throw new Error(`Stripe refuses nothing with ${code}`);
}
