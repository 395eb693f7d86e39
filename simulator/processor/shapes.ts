import { describedObjects, type Field } from './facts';

type Fields = Record<string, unknown>;

const descriptionOf = (name: string) => {
  const description = describedObjects.get(name);
  if (description === undefined) throw new Error(`no object of Stripe's is called ${name}`);
  return description;
};

/** An object with every field that Stripe always shows: those that are given, and empty ones beside them. */
export function shaped(name: string, given: Fields): Fields {
  const made = structuredClone(given);
  for (const [path, field] of descriptionOf(name)) {
    if (!field.isRequired || path.includes('[]')) continue;
    const steps = stepsOf(path);
    const last = steps.pop() ?? '';
    const owner = steps.reduce<unknown>((at, step) => (at as Fields | null | undefined)?.[step], made);
    if (typeof owner === 'object' && owner !== null) (owner as Fields)[last] ??= emptyOf(field);
  }
  return made;
}

/** Refuses an object that Stripe would not show: with an unknown field, without a known one, or of a wrong kind. */
export function requireShape(name: string, shown: Fields): void {
  const description = descriptionOf(name);
  const problems = [...description].flatMap(([path, field]) => problemOf(path, field, shown));
  const known = new Set([...description.keys()].map((path) => stepsOf(path)[0]));
  problems.push(...Object.keys(shown).filter((field) => !known.has(field)));
  if (problems.length > 0) throw new Error(`Stripe shows no such ${name}: ${problems.join(', ')}`);
}

function problemOf(path: string, field: Field, shown: Fields): string[] {
  const steps = stepsOf(path);
  const last = steps.pop() ?? '';
  const owners = steps.reduce<unknown[]>(
    (found, step) => found.flatMap((at) => (step === '' ? at : (at as Fields | null | undefined)?.[step])),
    [shown],
  );
  const isWrong = owners.some((owner) => {
    if (typeof owner !== 'object' || owner === null) return false;
    const value = (owner as Fields)[last];
    return value === undefined ? field.isRequired : !fits(value, field);
  });
  return isWrong ? [path] : [];
}

function fits(value: unknown, { kind, values, isNullable }: Field): boolean {
  if (value === null) return isNullable;
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'enumeration':
      return typeof value === 'string' && values.includes(value);
    case 'reference':
      return typeof value === 'string' || typeof value === 'object';
    case 'list':
      return Array.isArray(value);
    default:
      return typeof value === 'object' && !Array.isArray(value);
  }
}

function emptyOf({ kind, values, isNullable }: Field): unknown {
  if (isNullable) return null;
  switch (kind) {
    case 'integer':
      return 0;
    case 'flag':
      return false;
    case 'enumeration':
      return values[0];
    case 'list':
      return [];
    case 'map':
    case 'object':
      return {};
    default:
      return '';
  }
}

/** `line_items[][quantity]` as its steps; an empty one stands for every element of a list. */
const stepsOf = (path: string): string[] => path.split('[').map((step) => step.replace(']', ''));
