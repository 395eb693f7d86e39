import type { AnswerReader } from '../attempt';
import { PassingStream } from './passing-stream';
import { relayWhole } from './relay-whole';
import { TranslatedStream } from './translated-stream';

export const answerReader: AnswerReader = {
  stream: (answer) =>
    answer.outbound.translation === null ? new PassingStream(answer) : new TranslatedStream(answer),
  whole: relayWhole,
};
