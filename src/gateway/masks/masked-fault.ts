import { Fault, fault } from '../../kernel';
import type { AnswerMasks } from './answer-masks';
import { MaskFailed } from './mask-run';
import { maskFault } from './masked-stream';
import { maskedValue } from './masked-values';

/** A failure may quote its supplier, which may quote what was asked. */
export function maskedFault(masks: AnswerMasks, error: unknown): unknown {
  if (!(error instanceof Fault) || error.cause instanceof MaskFailed) return error;
  const { message, details } = error.options;
  const { changes } = masks;
  try {
    const shown = {
      ...(message !== undefined && { message: masks.whole(message) }),
      ...(details !== undefined && {
        details: maskedValue(masks, structuredClone(details), 'details') as Record<string, unknown>,
      }),
    };
    return masks.changes === changes ? error : fault(error.code, { ...error.options, ...shown });
  } catch (cause) {
    return cause instanceof MaskFailed ? maskFault(cause) : error;
  }
}
