import { AttemptTools } from './attempt-tools';

export { failoversIn } from './lane-turns';
export { AttemptTools } from './attempt-tools';
export { Attempts } from './attempts';
export type { AnswerReader, Delivery, LaneAnswer, LaneStream, LaneTry, ReadError } from './lane-answer';
export { hidesUsage } from './outbound';
export { markOf } from './reasoning-owners';
export { isRefusal } from './judge';
export { failureOf } from './stream-failure';
export { withoutUnknown } from './without-unknown';

export const attemptStage = [AttemptTools];
