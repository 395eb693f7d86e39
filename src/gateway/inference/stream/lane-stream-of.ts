import type { AnswerContext } from '../answer-context';
import type { LaneStream } from './lane-stream';
import { PassingStream } from './passing-stream';
import { TranslatedStream } from './translated-stream';

export const laneStream = (context: AnswerContext): LaneStream =>
  context.outbound.translation === null ? new PassingStream(context) : new TranslatedStream(context);
