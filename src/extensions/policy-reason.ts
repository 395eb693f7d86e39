import type { Policy } from '#extension';
import { fault } from '../kernel';
import type { ExtensionPart } from './loaded-extension';

const MAX_REASON_LENGTH = 500;

/** Returns why a policy forbids something; null if it does not. A policy that fails blocks the request. */
export function policyReason(
  { name, part }: ExtensionPart<Policy>,
  check: (policy: Policy) => unknown,
): string | null {
  let reason: unknown;
  try {
    reason = check(part);
  } catch (cause) {
    throw policyFailed(name, cause);
  }
  if (reason === null || reason === undefined) return null;
  if (typeof reason !== 'string') throw policyFailed(name, new TypeError('a reason is a text or null'));
  return reason.slice(0, MAX_REASON_LENGTH);
}

const policyFailed = (policy: string, cause: unknown) =>
  fault('service_unavailable', {
    message: `The policy ${policy} could not be asked.`,
    details: { policy },
    cause,
  });
