import { fault, type Fault } from '../kernel';
import { isRecord } from './usage';

/** The check says why a body with a successful status is no answer of its form; undefined when it is one. */
export type AnswerCheck = (
  body: Readonly<Record<string, unknown>>,
  asked?: Readonly<Record<string, unknown>>,
) => Fault | undefined;

export const unusable = (lacks: string): Fault =>
  fault('upstream_invalid_response', {
    message: `The supplier sent an answer without ${lacks}. Try again in a moment.`,
  });

/** The list in a field, if there is one with something in it. */
export const filledList = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) && value.length > 0 ? (value as unknown[]) : undefined;

/** Such an object holds more than its labels: an empty text, an empty list and null say nothing. */
export const saysSomething = (value: unknown, labels: readonly string[]): boolean =>
  isRecord(value) &&
  Object.entries(value).some(([name, held]) => {
    if (labels.includes(name) || held === undefined || held === null || held === '') return false;
    return !Array.isArray(held) || held.length > 0;
  });

/** The reason to stop that stands in a field; an empty text gives none. */
export const hasReason = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** The answer is a list of objects in this field. */
export const recordsIn =
  (field: string, lacks = field): AnswerCheck =>
  (body) =>
    filledList(body[field])?.every(isRecord) === true ? undefined : unusable(lacks);
