import { OpenStreams } from '../reply/open-streams';
import { Relay } from './relay';

export { answerReader } from './answer-reader';
export { Relay } from './relay';

export const relayStage = [OpenStreams, Relay];
