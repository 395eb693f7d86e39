import type { LaneAnswer, LaneStream } from '../attempt/lane-answer';
import { PassingStream } from './passing-stream';
import { TranslatedStream } from './translated-stream';

export const laneStream = (answer: LaneAnswer): LaneStream =>
  answer.outbound.translation === null ? new PassingStream(answer) : new TranslatedStream(answer);
