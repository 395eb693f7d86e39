import type { ErrorCode } from '../../kernel';
import type { LaneFailure } from '../../routing';
import type { Inbound } from '../intake';
import type { Judgement } from './judge';

/** Statuses that concern the supplier or our credential; any other may be the request's fault. */
const ofTheSupplier: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 502, 503, 504, 529]);
/** The same as error types, in a stream or under a status of success. */
const inItsWords: ReadonlySet<ErrorCode> = new Set(['provider_unavailable', 'supplier_limit']);
/** The connection failed, independent of the request. */
const ofTheConnection: ReadonlySet<ErrorCode> = new Set([
  'upstream_unavailable',
  'stream_interrupted',
  'configuration_error',
]);

/**
 * The request may have caused such a failure: a 404, an internal error, an unreadable answer, or silence over
 * a long prompt. A single one could also be the lane's fault, so they count by key.
 */
const isCallerMayBeCause = ({ status, problem }: Pick<Judgement, 'status' | 'problem'>): boolean => {
  if (inItsWords.has(problem.code)) return false;
  return status === null ? !ofTheConnection.has(problem.code) : !ofTheSupplier.has(status);
};

type Failed = Omit<LaneFailure, 'isCallerMayBeCause' | 'owner'>;

/** A failure as reported to a lane's health, and the key whose request it was. */
export const blameOf = ({ caller }: Inbound, failed: Failed): LaneFailure => ({
  ...failed,
  isCallerMayBeCause: isCallerMayBeCause(failed),
  owner: ownerOf(caller.attribution),
});

/** Keys are free to make: all keys of one organisation or user count as one. */
function ownerOf({ organisationId, userId, keyId }: Inbound['caller']['attribution']): string {
  if (organisationId !== null) return `organisation ${organisationId}`;
  return userId === null ? `key ${keyId}` : `user ${userId}`;
}
