import type { ErrorCode } from '../../kernel';
import type { LaneFailure } from '../../routing';
import type { Inbound } from '../intake';
import type { FailedAttempt } from './classify-failure';

/** Statuses that concern the supplier or our credential; any other could be the request's fault. */
const supplierStatuses: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 502, 503, 504, 529]);
/** Error codes with the same meaning, inside a stream or a successful response. */
const supplierCodes: ReadonlySet<ErrorCode> = new Set(['provider_unavailable', 'supplier_limit']);
/** Error codes of connection failures, which do not depend on the request. */
const connectionCodes: ReadonlySet<ErrorCode> = new Set([
  'upstream_unavailable',
  'stream_interrupted',
  'configuration_error',
]);

/**
 * Returns true if the request could be the cause: a 404, an internal error, an unreadable response, or a timeout on a
 * long prompt. A single such failure could be the lane's fault, so they count by key.
 */
const isCallerMayBeCause = ({ status, problem }: Pick<FailedAttempt, 'status' | 'problem'>): boolean => {
  if (supplierCodes.has(problem.code)) return false;
  return status === null ? !connectionCodes.has(problem.code) : !supplierStatuses.has(status);
};

type BlamedFailure = Omit<LaneFailure, 'isCallerMayBeCause' | 'owner'>;

export const blameOf = ({ caller }: Inbound, failure: BlamedFailure): LaneFailure => ({
  ...failure,
  isCallerMayBeCause: isCallerMayBeCause(failure),
  owner: ownerOf(caller.attribution),
});

/** Keys are free to create, so all keys of one organisation or user count as one owner. */
function ownerOf({ organisationId, userId, keyId }: Inbound['caller']['attribution']): string {
  if (organisationId !== null) return `organisation ${organisationId}`;
  return userId === null ? `key ${keyId}` : `user ${userId}`;
}
