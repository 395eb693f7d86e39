import { Masking } from './masking';

export type { AnswerMasks } from './answer-masks';
export { maskedBody } from './masked-body';
export { maskedFault } from './masked-fault';
export { MaskedStream, maskFault } from './masked-stream';
export { MaskFailed } from './mask-run';
export { Masking } from './masking';

export const masksStage = [Masking];
