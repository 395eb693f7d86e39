import { Masking } from './masking';

export type { AnswerMasks } from './answer-masks';
export { maskBody } from './masked-body';
export { maskError } from './mask-error';
export { MaskedStream, maskFailureFault } from './masked-stream';
export { MaskError } from './mask-run';
export { Masking } from './masking';

export const masksStage = [Masking];
