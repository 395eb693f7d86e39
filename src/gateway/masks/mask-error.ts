import { Fault, fault } from '../../kernel';
import type { AnswerMasks } from './answer-masks';
import { MaskError } from './mask-run';
import { maskFailureFault } from './masked-stream';
import { maskValue } from './mask-values';

/** Masks an error, as it can quote its supplier, which can quote the request. */
export function maskError(masks: AnswerMasks, error: unknown): unknown {
  if (!(error instanceof Fault) || error.cause instanceof MaskError) return error;
  const { message, details } = error.options;
  const { changes } = masks;
  try {
    const maskedOptions = {
      ...(message !== undefined && { message: masks.maskText(message) }),
      ...(details !== undefined && {
        details: maskValue(masks, structuredClone(details), 'details') as Record<string, unknown>,
      }),
    };
    return masks.changes === changes ? error : fault(error.code, { ...error.options, ...maskedOptions });
  } catch (cause) {
    return cause instanceof MaskError ? maskFailureFault(cause) : error;
  }
}
