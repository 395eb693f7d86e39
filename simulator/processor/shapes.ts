import { describedObjects, type FieldDescription } from './facts';

type ObjectFields = Record<string, unknown>;

const descriptionOf = (name: string) => {
  const description = describedObjects.get(name);
  if (description === undefined) throw new Error(`no object of Stripe's is called ${name}`);
  return description;
};

/** Completes an object with empty values for the fields that Stripe always returns. */
export function completeObject(name: string, fields: ObjectFields): ObjectFields {
  const object = structuredClone(fields);
  for (const [path, field] of descriptionOf(name)) {
    if (!field.isRequired || path.includes('[]')) continue;
    const steps = stepsOf(path);
    const last = steps.pop() ?? '';
    const owner = steps.reduce<unknown>(
      (at, step) => (at as ObjectFields | null | undefined)?.[step],
      object,
    );
    if (typeof owner === 'object' && owner !== null) (owner as ObjectFields)[last] ??= emptyOf(field);
  }
  return object;
}

/** Throws if Stripe would not return this object: an unknown field, a missing one, or a wrong type. */
export function requireShape(name: string, object: ObjectFields): void {
  const description = descriptionOf(name);
  const problems = [...description].flatMap(([path, field]) => findProblems(path, field, object));
  const known = new Set([...description.keys()].map((path) => stepsOf(path)[0]));
  problems.push(...Object.keys(object).filter((field) => !known.has(field)));
  if (problems.length > 0) throw new Error(`Stripe shows no such ${name}: ${problems.join(', ')}`);
}

function findProblems(path: string, field: FieldDescription, object: ObjectFields): string[] {
  const steps = stepsOf(path);
  const last = steps.pop() ?? '';
  const owners = steps.reduce<unknown[]>(
    (current, step) =>
      current.flatMap((at) => (step === '' ? at : (at as ObjectFields | null | undefined)?.[step])),
    [object],
  );
  const isWrong = owners.some((owner) => {
    if (typeof owner !== 'object' || owner === null) return false;
    const value = (owner as ObjectFields)[last];
    return value === undefined ? field.isRequired : !fits(value, field);
  });
  return isWrong ? [path] : [];
}

function fits(value: unknown, { kind, values, isNullable }: FieldDescription): boolean {
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

function emptyOf({ kind, values, isNullable }: FieldDescription): unknown {
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

/** Splits `line_items[][quantity]` into steps; an empty step stands for every element of a list. */
const stepsOf = (path: string): string[] => path.split('[').map((step) => step.replace(']', ''));
