import type { ErrorCode } from '../../kernel';
import type { LaneFailure } from '../../routing';
import type { Inbound } from './inbound';
import type { Judgement } from './judge';

/** By these a supplier speaks of itself or of our credential; anything else it answers may be due to the request. */
const ofTheSupplier: ReadonlySet<number> = new Set([401, 402, 403, 408, 429, 502, 503, 504, 529]);
/** The same in the words of a stream, or under a status of success. */
const inItsWords: ReadonlySet<ErrorCode> = new Set(['provider_unavailable', 'supplier_limit']);
/** The connection failed, whatever was sent over it. */
const ofTheConnection: ReadonlySet<ErrorCode> = new Set([
  'upstream_unavailable',
  'stream_interrupted',
  'configuration_error',
]);

/**
 * Whether the request itself may have caused a failure: a 404, an internal error, an answer that cannot be read, long
 * silence over a long prompt. No one of them can be told from a fault of the lane, so they count by the key.
 */
const isCallerMayBeCause = ({ status, problem }: Pick<Judgement, 'status' | 'problem'>): boolean => {
  if (inItsWords.has(problem.code)) return false;
  return status === null ? !ofTheConnection.has(problem.code) : !ofTheSupplier.has(status);
};

type Failed = Omit<LaneFailure, 'isCallerMayBeCause' | 'owner'>;

/** What a lane is told of a failure, and of the one it failed. */
export const blameOf = ({ caller }: Inbound, failed: Failed): LaneFailure => ({
  ...failed,
  isCallerMayBeCause: isCallerMayBeCause(failed),
  owner: ownerOf(caller.attribution),
});

/** Keys are free to make: those of one organisation or user are one voice. */
function ownerOf({ organisationId, userId, keyId }: Inbound['caller']['attribution']): string {
  if (organisationId !== null) return `organisation ${organisationId}`;
  return userId === null ? `key ${keyId}` : `user ${userId}`;
}
