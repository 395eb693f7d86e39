import { AttemptTools } from './attempt-tools';

export { failoversIn } from './lane-sequence';
export { AttemptTools } from './attempt-tools';
export { Attempts } from './attempts';
export type {
  LaneResponseReader,
  Delivery,
  LaneResponse,
  LaneStream,
  LaneAttempt,
  ReadError,
} from './lane-response';
export { hidesUsage } from './outbound';
export { markOf } from './reasoning-owners';
export { isRefusal } from './classify-failure';
export { failureOf } from './stream-failure';
export { withoutOmitted } from './without-omitted';

export const attemptStage = [AttemptTools];
