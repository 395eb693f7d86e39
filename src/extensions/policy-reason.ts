import type { Policy } from '#extension';
import { fault } from '../kernel';
import type { Owned } from './loaded-extension';

const LONGEST_REASON = 500;

/** The reason that a policy forbids something for; null where it does not. Where it cannot say, nothing goes on. */
export function policyReason({ name, part }: Owned<Policy>, ask: (policy: Policy) => unknown): string | null {
  let reason: unknown;
  try {
    reason = ask(part);
  } catch (cause) {
    throw unanswered(name, cause);
  }
  if (reason === null || reason === undefined) return null;
  if (typeof reason !== 'string') throw unanswered(name, new TypeError('a reason is a text or null'));
  return reason.slice(0, LONGEST_REASON);
}

const unanswered = (policy: string, cause: unknown) =>
  fault('service_unavailable', {
    message: `The policy ${policy} could not be asked.`,
    details: { policy },
    cause,
  });
