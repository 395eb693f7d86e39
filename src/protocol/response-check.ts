import { fault, type Fault } from '../kernel';
import { isRecord } from './usage';

/** Returns why a body with a successful status is no valid response; undefined if it is valid. */
export type ResponseCheck = (
  body: Readonly<Record<string, unknown>>,
  request?: Readonly<Record<string, unknown>>,
) => Fault | undefined;

export const missingContent = (missing: string): Fault =>
  fault('upstream_invalid_response', {
    message: `The supplier sent an answer without ${missing}. Try again in a moment.`,
  });

export const nonEmptyList = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) && value.length > 0 ? (value as unknown[]) : undefined;

/** Whether an object has content besides its labels: empty texts, empty lists and null do not count. */
export const hasContent = (value: unknown, labels: readonly string[]): boolean =>
  isRecord(value) &&
  Object.entries(value).some(([name, member]) => {
    if (labels.includes(name) || member === undefined || member === null || member === '') return false;
    return !Array.isArray(member) || member.length > 0;
  });

export const hasFinishReason = (value: unknown): boolean => typeof value === 'string' && value !== '';

export const requireRecords =
  (field: string, missing = field): ResponseCheck =>
  (body) =>
    nonEmptyList(body[field])?.every(isRecord) === true ? undefined : missingContent(missing);
