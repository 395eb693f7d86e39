import { OpenStreams } from '../reply/open-streams';
import { Relay } from './relay';
import { Safeguards } from './safeguards';

export { laneResponseReader } from './lane-response-reader';
export { Relay } from './relay';
export { Safeguards, type ToolVerdict } from './safeguards';

export const relayStage = [OpenStreams, Safeguards, Relay];
