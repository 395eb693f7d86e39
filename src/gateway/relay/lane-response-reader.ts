import type { LaneResponseReader } from '../attempt';
import { PassingStream } from './passing-stream';
import { relayComplete } from './relay-complete';
import { ConvertedStream } from './converted-stream';

export const laneResponseReader: LaneResponseReader = {
  stream: (answer) =>
    answer.outbound.translation === null ? new PassingStream(answer) : new ConvertedStream(answer),
  readComplete: relayComplete,
};
